//! A proxy's side of the protocol, for tests.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use envoy_types::pb::envoy::config::core::v3::{HeaderMap, HeaderValue};
use envoy_types::pb::envoy::service::ext_proc::v3::body_mutation::Mutation;
use envoy_types::pb::envoy::service::ext_proc::v3::external_processor_client::ExternalProcessorClient;
use envoy_types::pb::envoy::service::ext_proc::v3::processing_request::Request;
use envoy_types::pb::envoy::service::ext_proc::v3::processing_response::Response;
use envoy_types::pb::envoy::service::ext_proc::v3::{
    BodyResponse, HttpBody, HttpHeaders, HttpTrailers, ProcessingRequest, ProcessingResponse, ProtocolConfiguration,
};
use envoy_types::pb::google::protobuf::value::Kind;
use serde_json::{Value, json};
use testbed_picker::{Config, Ready};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

const DESTINATION: &str = "x-gateway-destination-endpoint";
const FULL_DUPLEX_STREAMED: i32 = 4;

/// How long anything may take before the test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(30);

/// The body of a completion request.
pub fn request(prompt: &str) -> String {
    json!({"model": "m", "prompt": prompt, "max_tokens": 3}).to_string()
}

/// A picker on loopback with servers that answer scrapes.
pub struct Picker {
    ready: Ready,
    pub servers: Vec<String>,
    channel: tokio::sync::OnceCell<Channel>,
}

impl Picker {
    /// A picker in front of `servers` servers, with `overrides` in its file.
    pub async fn start(servers: usize, overrides: Value) -> Self {
        let mut addresses = Vec::new();
        for _ in 0..servers {
            addresses.push(server().await.to_string());
        }
        let folder = tempfile::tempdir().unwrap();
        let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../config/routing/optimized-baseline.yaml");
        let mut file = json!({"servers": addresses, "model": "m", "policy": policy});
        for (key, value) in overrides.as_object().unwrap() {
            file[key] = value.clone();
        }
        let path = folder.path().join("picker.yaml");
        fs_err::write(&path, file.to_string()).unwrap();
        let ready = testbed_picker::start(&Config::read(&path).unwrap()).unwrap();
        Self { ready, servers: addresses, channel: tokio::sync::OnceCell::new() }
    }

    /// The one connection that all streams share, as a proxy's do.
    pub async fn channel(&self) -> Channel {
        let connect = || async {
            Channel::from_shared(format!("http://{}", self.ready.picker)).unwrap().connect().await.unwrap()
        };
        self.channel.get_or_init(connect).await.clone()
    }

    pub async fn open(&self) -> Stream {
        let (sender, outgoing) = mpsc::channel(1);
        let mut client = ExternalProcessorClient::new(self.channel().await).max_decoding_message_size(64 << 20);
        let incoming = client.process(ReceiverStream::new(outgoing)).await.unwrap().into_inner();
        Stream { sender: Sender(sender), incoming }
    }

    /// Sends one request through and returns where it was sent; its answer has ended.
    pub async fn whole(&self, body: &str) -> String {
        let mut stream = self.open().await;
        stream.headers("/v1/completions", false).await;
        stream.body(body.as_bytes(), true).await;
        let chosen = stream.chosen().await;
        stream.echo(1).await;
        stream.answer_body(b"end", true).await;
        stream.echo(1).await;
        chosen
    }

    /// The metrics page.
    pub async fn page(&self) -> String {
        let address = self.ready.admin.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").await.unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).await.unwrap();
        page
    }

    /// The metrics page once it is as expected.
    pub async fn page_when(&self, expected: impl Fn(&str) -> bool) -> String {
        let began = tokio::time::Instant::now();
        loop {
            let page = self.page().await;
            if expected(&page) {
                return page;
            }
            assert!(began.elapsed() < PATIENCE, "the page never becomes as expected: {page}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// A server that answers every request with an empty metrics page.
async fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut asked = [0; 4096];
                while stream.read(&mut asked).await.is_ok_and(|read| read > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                    if stream.write_all(answer).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// The sending half of a stream.
#[derive(Clone)]
pub struct Sender(mpsc::Sender<ProcessingRequest>);

impl Sender {
    async fn send(&mut self, request: Request, protocol_config: Option<ProtocolConfiguration>) {
        let message = ProcessingRequest { request: Some(request), protocol_config, ..Default::default() };
        self.0.send(message).await.unwrap();
    }

    pub async fn answer_body(&mut self, body: &[u8], end_of_stream: bool) {
        let body = HttpBody { body: body.to_vec(), end_of_stream, ..Default::default() };
        self.send(Request::ResponseBody(body), None).await;
    }
}

/// One request's stream.
pub struct Stream {
    sender: Sender,
    incoming: Streaming<ProcessingResponse>,
}

impl Stream {
    pub fn sender(&self) -> Sender {
        self.sender.clone()
    }

    pub async fn headers(&mut self, path: &str, end_of_stream: bool) {
        self.send_headers(path, end_of_stream, FULL_DUPLEX_STREAMED).await;
    }

    pub async fn headers_in_mode(&mut self, path: &str, mode: i32) {
        self.send_headers(path, false, mode).await;
    }

    async fn send_headers(&mut self, path: &str, end_of_stream: bool, mode: i32) {
        let header = |key: &str, value: &str| HeaderValue {
            key: key.into(),
            raw_value: value.as_bytes().to_vec(),
            ..Default::default()
        };
        let headers = HeaderMap { headers: vec![header(":method", "POST"), header(":path", path)] };
        let headers = HttpHeaders { headers: Some(headers), end_of_stream, ..Default::default() };
        let protocol =
            ProtocolConfiguration { request_body_mode: mode, response_body_mode: mode, ..Default::default() };
        self.sender.send(Request::RequestHeaders(headers), Some(protocol)).await;
    }

    pub async fn body(&mut self, body: &[u8], end_of_stream: bool) {
        let body = HttpBody { body: body.to_vec(), end_of_stream, ..Default::default() };
        self.sender.send(Request::RequestBody(body), None).await;
    }

    pub async fn trailers(&mut self) {
        self.sender.send(Request::RequestTrailers(HttpTrailers::default()), None).await;
    }

    pub async fn answer_headers(&mut self) {
        self.sender.send(Request::ResponseHeaders(HttpHeaders::default()), None).await;
    }

    pub async fn answer_body(&mut self, body: &[u8], end_of_stream: bool) {
        self.sender.answer_body(body, end_of_stream).await;
    }

    pub async fn answer_trailers(&mut self) {
        self.sender.send(Request::ResponseTrailers(HttpTrailers::default()), None).await;
    }

    async fn message(&mut self) -> Result<Option<ProcessingResponse>, Status> {
        tokio::time::timeout(PATIENCE, self.incoming.message()).await.expect("the picker is silent")
    }

    pub async fn next(&mut self) -> Option<Response> {
        self.message().await.unwrap().and_then(|message| message.response)
    }

    /// The error that ends the stream.
    pub async fn status(&mut self) -> Status {
        self.message().await.unwrap_err()
    }

    /// Where the request is sent: the same address in header and metadata.
    pub async fn chosen(&mut self) -> String {
        let message = self.message().await.unwrap().unwrap();
        let Some(Response::RequestHeaders(headers)) = message.response else { panic!("{:?}", message.response) };
        let set = headers.response.unwrap().header_mutation.unwrap().set_headers;
        let header = set.into_iter().next().unwrap().header.unwrap();
        assert_eq!(header.key, DESTINATION);
        let address = String::from_utf8(header.raw_value).unwrap();
        let metadata = message.dynamic_metadata.unwrap().fields["envoy.lb"].kind.clone();
        let Some(Kind::StructValue(inner)) = metadata else { panic!("{metadata:?}") };
        assert_eq!(inner.fields[DESTINATION].kind, Some(Kind::StringValue(address.clone())));
        assert!(address.parse::<SocketAddr>().is_ok(), "one ip:port: {address}");
        address
    }

    /// The next `chunks` body chunks joined, and whether the last one ends the body.
    pub async fn echo(&mut self, chunks: usize) -> (Vec<u8>, bool) {
        let (mut bytes, mut end) = (Vec::new(), false);
        for _ in 0..chunks {
            assert!(!end, "chunks after the last one");
            let response = self.next().await;
            let Some(Response::RequestBody(body) | Response::ResponseBody(body)) = response else {
                panic!("{response:?}")
            };
            let BodyResponse { response: Some(common) } = body else { panic!("a body without a response") };
            let Some(Mutation::StreamedResponse(streamed)) = common.body_mutation.unwrap().mutation else {
                panic!("the chunk is not a streamed response")
            };
            bytes.extend(streamed.body);
            end = streamed.end_of_stream;
        }
        (bytes, end)
    }

    /// The answer in place of any server's: status and JSON body; the stream then ends.
    pub async fn immediate(&mut self) -> (i32, Value) {
        let response = self.next().await;
        let Some(Response::ImmediateResponse(answer)) = response else { panic!("{response:?}") };
        assert!(self.next().await.is_none(), "the stream goes on after an immediate response");
        (answer.status.unwrap().code, serde_json::from_slice(&answer.body).unwrap())
    }
}
