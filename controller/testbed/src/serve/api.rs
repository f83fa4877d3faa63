//! The part of OpenAI's API that the servers speak: requests, answers, errors.

use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tokenizer;

/// Tokens that a completion gets when the request does not say, as OpenAI's API and vLLM have it.
const DEFAULT_TOKENS: u32 = 16;

/// Which of the two generation endpoints was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// `POST /v1/completions`
    Completions,
    /// `POST /v1/chat/completions`
    Chat,
}

impl Endpoint {
    /// The endpoint at a path.
    pub(super) fn at(path: &str) -> Option<Self> {
        match path {
            "/v1/completions" => Some(Self::Completions),
            "/v1/chat/completions" => Some(Self::Chat),
            _ => None,
        }
    }
}

/// A request for tokens, as far as it matters here; unknown parameters are accepted and ignored, as vLLM does.
#[derive(Clone, Debug)]
pub(super) struct Generation {
    /// The model asked for.
    pub(super) model: String,
    /// All the prompt's text.
    pub(super) text: String,
    /// Tokens to generate; the simulated model never stops earlier by itself, with or without `ignore_eos`.
    pub(super) tokens: u32,
    /// Whether the answer is streamed.
    pub(super) stream: bool,
    /// Whether a stream ends with a chunk that counts tokens.
    pub(super) usage: bool,
}

/// A refusal, in OpenAI's form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status code.
    pub status: StatusCode,
    /// What was wrong.
    pub message: String,
}

impl Refusal {
    /// A request that cannot be understood or carried out.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into() }
    }

    /// The error body.
    pub fn body(&self) -> Bytes {
        let kind = match self.status {
            StatusCode::NOT_FOUND => "NotFoundError",
            status if status.is_client_error() => "BadRequestError",
            _ => "InternalServerError",
        };
        let error = json!({"message": self.message, "type": kind, "param": null, "code": self.status.as_u16()});
        Bytes::from(json!({ "error": error }).to_string())
    }
}

#[derive(Deserialize)]
struct Wire {
    model: String,
    #[serde(default)]
    prompt: Value,
    #[serde(default)]
    messages: Vec<Message>,
    max_tokens: Option<i64>,
    max_completion_tokens: Option<i64>,
    n: Option<i64>,
    #[serde(default)]
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

impl Generation {
    /// Reads a request body.
    ///
    /// # Errors
    /// A 400 that says which part cannot be used.
    pub(super) fn parse(endpoint: Endpoint, body: &[u8]) -> Result<Self, Refusal> {
        let wire: Wire = serde_json::from_slice(body)
            .map_err(|error| Refusal::bad_request(format!("the request's body cannot be read: {error}")))?;
        let text = match endpoint {
            Endpoint::Completions => prompt_text(&wire.prompt)?,
            Endpoint::Chat => chat_text(&wire.messages)?,
        };
        if wire.n.is_some_and(|n| n != 1) {
            return Err(Refusal::bad_request("`n` must be 1"));
        }
        let tokens = wire.max_completion_tokens.or(wire.max_tokens).unwrap_or(i64::from(DEFAULT_TOKENS));
        let tokens = u32::try_from(tokens).ok().filter(|&tokens| tokens > 0);
        let tokens = tokens.ok_or_else(|| Refusal::bad_request("`max_tokens` must be at least 1"))?;
        Ok(Self {
            model: wire.model,
            text,
            tokens,
            stream: wire.stream.unwrap_or(false),
            usage: wire.stream_options.is_some_and(|options| options.include_usage),
        })
    }
}

/// A prompt's text: a string, one string in a list, or token ids, which stand for their words.
fn prompt_text(prompt: &Value) -> Result<String, Refusal> {
    let refused = || Refusal::bad_request("`prompt` must be a string, a list of one string, or a list of token ids");
    match prompt {
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => match parts.as_slice() {
            [Value::String(text)] => Ok(text.clone()),
            [Value::Array(ids)] => ids_text(ids).ok_or_else(refused),
            ids => ids_text(ids).ok_or_else(refused),
        },
        _ => Err(refused()),
    }
}

fn ids_text(ids: &[Value]) -> Option<String> {
    let words: Option<Vec<_>> = ids.iter().map(|id| Some(id.as_u64()?.to_string())).collect();
    words.filter(|words| !words.is_empty()).map(|words| words.join(" "))
}

fn chat_text(messages: &[Message]) -> Result<String, Refusal> {
    if messages.is_empty() {
        return Err(Refusal::bad_request("`messages` must hold at least one message"));
    }
    let mut text = String::new();
    for message in messages {
        text.push_str(&message.role);
        text.push('\n');
        match &message.content {
            Value::String(content) => text.push_str(content),
            Value::Array(parts) => {
                for part in parts.iter().filter_map(|part| part["text"].as_str()) {
                    text.push_str(part);
                    text.push(' ');
                }
            }
            Value::Null => {}
            _ => return Err(Refusal::bad_request("a message's `content` must be a string or a list of parts")),
        }
        text.push('\n');
    }
    Ok(text)
}

/// How one answer is written: the parts that stay the same are made once, because each token is a chunk of its own.
#[derive(Debug)]
pub(super) struct Writer {
    endpoint: Endpoint,
    /// Identity of the answer, up to the choices: `"id":…,"object":…,"created":…,"model":…`.
    head: String,
    prompt_tokens: u32,
    tag: u64,
}

impl Writer {
    /// A writer of the answer `tag` of `model`, created at `created` (Unix seconds).
    pub(super) fn new(
        endpoint: Endpoint,
        stream: bool,
        tag: u64,
        model: &str,
        prompt_tokens: u32,
        created: u64,
    ) -> Self {
        let (prefix, object) = match (endpoint, stream) {
            (Endpoint::Completions, _) => ("cmpl", "text_completion"),
            (Endpoint::Chat, true) => ("chatcmpl", "chat.completion.chunk"),
            (Endpoint::Chat, false) => ("chatcmpl", "chat.completion"),
        };
        let model = Value::from(model);
        let head = format!(r#""id":"{prefix}-{tag:016x}","object":"{object}","created":{created},"model":{model}"#);
        Self { endpoint, head, prompt_tokens, tag }
    }

    /// The `index`-th token's text, with the space that separates it from the next one.
    fn token(&self, index: u32) -> String {
        let word = (self.tag as usize).wrapping_mul(31).wrapping_add(index as usize * tokenizer::ANSWER_STRIDE)
            % tokenizer::WORDS;
        tokenizer::word(word) + " "
    }

    /// The chunk of the `index`-th token; the last one says why the answer ends.
    pub(super) fn chunk(&self, index: u32, last: bool) -> Bytes {
        let reason = if last { r#""length""# } else { "null" };
        let text = self.token(index);
        let head = &self.head;
        let choice = match self.endpoint {
            Endpoint::Completions => format!(r#""text":"{text}","logprobs":null"#),
            Endpoint::Chat if index == 0 => format!(r#""delta":{{"role":"assistant","content":"{text}"}}"#),
            Endpoint::Chat => format!(r#""delta":{{"content":"{text}"}}"#),
        };
        Bytes::from(format!("data: {{{head},\"choices\":[{{\"index\":0,{choice},\"finish_reason\":{reason}}}]}}\n\n"))
    }

    /// The end of a stream of `tokens` tokens, with a count of tokens if one was asked for.
    pub(super) fn end(&self, tokens: u32, usage: bool) -> Bytes {
        let head = &self.head;
        let usage = if usage {
            format!("data: {{{head},\"choices\":[],\"usage\":{}}}\n\n", self.usage(tokens))
        } else {
            String::new()
        };
        Bytes::from(usage + "data: [DONE]\n\n")
    }

    /// A whole answer of `tokens` tokens.
    pub(super) fn whole(&self, tokens: u32) -> Bytes {
        let text: String = (0..tokens).map(|index| self.token(index)).collect();
        let choice = match self.endpoint {
            Endpoint::Completions => json!({"index": 0, "text": text, "logprobs": null, "finish_reason": "length"}),
            Endpoint::Chat => {
                json!({"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "length"})
            }
        };
        Bytes::from(format!(r#"{{{},"choices":[{choice}],"usage":{}}}"#, self.head, self.usage(tokens)))
    }

    fn usage(&self, tokens: u32) -> Value {
        let prompt = self.prompt_tokens;
        json!({"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(endpoint: Endpoint, body: &Value) -> Result<Generation, Refusal> {
        Generation::parse(endpoint, body.to_string().as_bytes())
    }

    #[test]
    fn a_completion_may_be_asked_for_by_text_a_list_of_one_text_or_token_ids() {
        for (prompt, text) in
            [(json!("a b"), "a b"), (json!(["a b"]), "a b"), (json!([1, 2]), "1 2"), (json!([[7]]), "7")]
        {
            let request =
                parse(Endpoint::Completions, &json!({"model": "m", "prompt": prompt, "max_tokens": 3})).unwrap();
            assert_eq!((request.text.as_str(), request.tokens, request.stream), (text, 3, false));
        }
    }

    #[test]
    fn a_chat_s_text_holds_its_roles_and_all_text_parts() {
        let messages = json!([
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "why"}, {"type": "image_url"}]}
        ]);
        let request = json!({"model": "m", "messages": messages, "max_completion_tokens": 2, "stream": true,
            "stream_options": {"include_usage": true}});
        let request = parse(Endpoint::Chat, &request).unwrap();
        assert_eq!(request.text, "system\nbe brief\nuser\nwhy \n");
        assert!(request.stream && request.usage);
    }

    #[test]
    fn what_cannot_be_carried_out_is_refused_with_the_parameter_s_name() {
        let prompt = json!({"model": "m", "prompt": "a"});
        for (key, value) in
            [("prompt", json!({})), ("max_tokens", json!(0)), ("max_tokens", json!(-1)), ("n", json!(2))]
        {
            let mut request = prompt.clone();
            request[key] = value;
            let refusal = parse(Endpoint::Completions, &request).unwrap_err();
            assert_eq!(refusal.status, StatusCode::BAD_REQUEST);
            assert!(refusal.message.contains(&format!("`{key}`")), "{}", refusal.message);
        }
        assert!(parse(Endpoint::Chat, &prompt).unwrap_err().message.contains("`messages`"));
        let body: Value = serde_json::from_slice(&Refusal::bad_request("why").body()).unwrap();
        assert_eq!(body["error"]["message"], "why");
    }

    #[test]
    fn a_stream_holds_one_json_chunk_a_token_and_ends_with_usage_and_done() {
        for endpoint in [Endpoint::Completions, Endpoint::Chat] {
            let writer = Writer::new(endpoint, true, 5, "a \"model\"", 7, 0);
            let chunk = writer.chunk(1, true);
            let chunk: Value = serde_json::from_slice(chunk.strip_prefix(b"data: ").unwrap()).unwrap();
            assert_eq!(chunk["model"], "a \"model\"");
            assert_eq!(chunk["choices"][0]["finish_reason"], "length");
            let end = String::from_utf8(writer.end(2, true).to_vec()).unwrap();
            assert!(end.contains(r#""completion_tokens":2"#) && end.ends_with("data: [DONE]\n\n"), "{end}");
            let whole: Value = serde_json::from_slice(&writer.whole(3)).unwrap();
            assert_eq!(whole["usage"]["total_tokens"], 10);
        }
    }
}
