//! The protocol's messages, as far as the picker makes or reads them.

use envoy_types::pb::envoy::config::core::v3::header_value_option::HeaderAppendAction;
use envoy_types::pb::envoy::config::core::v3::{HeaderMap, HeaderValue, HeaderValueOption};
use envoy_types::pb::envoy::service::ext_proc::v3::body_mutation::Mutation;
use envoy_types::pb::envoy::service::ext_proc::v3::processing_response::Response;
use envoy_types::pb::envoy::service::ext_proc::v3::{
    BodyMutation, BodyResponse, CommonResponse, HeaderMutation, HeadersResponse, ImmediateResponse, ProcessingResponse,
    StreamedBodyResponse, TrailersResponse,
};
use envoy_types::pb::envoy::r#type::v3::HttpStatus;
use envoy_types::pb::google::protobuf::value::Kind;
use envoy_types::pb::google::protobuf::{Struct, Value};

/// The header, and the key of the metadata, that carry the choice: one `ip:port`.
pub(crate) const DESTINATION: &str = "x-gateway-destination-endpoint";

/// The namespace of the metadata.
const NAMESPACE: &str = "envoy.lb";

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the client to the server.
    Request,
    /// Back.
    Answer,
}

/// The value of a header; proxies send it as text or as bytes.
pub(crate) fn header<'a>(headers: Option<&'a HeaderMap>, name: &str) -> Option<std::borrow::Cow<'a, str>> {
    let header = headers?.headers.iter().find(|header| header.key.eq_ignore_ascii_case(name))?;
    Some(if header.raw_value.is_empty() {
        header.value.as_str().into()
    } else {
        String::from_utf8_lossy(&header.raw_value)
    })
}

/// The answer that sends a request to `destination`.
pub(crate) fn chosen(destination: &str) -> ProcessingResponse {
    let header = HeaderValueOption {
        header: Some(HeaderValue {
            key: DESTINATION.into(),
            raw_value: destination.as_bytes().to_vec(),
            ..Default::default()
        }),
        append_action: HeaderAppendAction::OverwriteIfExistsOrAdd.into(),
        ..Default::default()
    };
    let response = CommonResponse {
        header_mutation: Some(HeaderMutation { set_headers: vec![header], ..Default::default() }),
        clear_route_cache: true,
        ..Default::default()
    };
    let mut message = answer(Response::RequestHeaders(HeadersResponse { response: Some(response) }));
    let text = |text: &str| Value { kind: Some(Kind::StringValue(text.into())) };
    let inner = Struct { fields: [(DESTINATION.to_owned(), text(destination))].into() };
    let outer = Value { kind: Some(Kind::StructValue(inner)) };
    message.dynamic_metadata = Some(Struct { fields: [(NAMESPACE.to_owned(), outer)].into() });
    message
}

/// Headers, passed on as they are.
pub(crate) fn headers() -> ProcessingResponse {
    answer(Response::ResponseHeaders(HeadersResponse::default()))
}

/// A chunk of a body, passed on as it is.
pub(crate) fn chunk(direction: Direction, body: Vec<u8>, end_of_stream: bool) -> ProcessingResponse {
    let streamed = StreamedBodyResponse { body, end_of_stream, ..Default::default() };
    let mutation = BodyMutation { mutation: Some(Mutation::StreamedResponse(streamed)) };
    let response = CommonResponse { body_mutation: Some(mutation), ..Default::default() };
    let response = BodyResponse { response: Some(response) };
    answer(match direction {
        Direction::Request => Response::RequestBody(response),
        Direction::Answer => Response::ResponseBody(response),
    })
}

/// Trailers, passed on as they are.
pub(crate) fn trailers(direction: Direction) -> ProcessingResponse {
    answer(match direction {
        Direction::Request => Response::RequestTrailers(TrailersResponse::default()),
        Direction::Answer => Response::ResponseTrailers(TrailersResponse::default()),
    })
}

/// An answer to the client in place of any server's.
pub(crate) fn immediate(status: u16, body: Vec<u8>, details: &str) -> ProcessingResponse {
    let json = HeaderValueOption {
        header: Some(HeaderValue {
            key: "content-type".into(),
            raw_value: b"application/json".to_vec(),
            ..Default::default()
        }),
        append_action: HeaderAppendAction::OverwriteIfExistsOrAdd.into(),
        ..Default::default()
    };
    answer(Response::ImmediateResponse(ImmediateResponse {
        status: Some(HttpStatus { code: i32::from(status) }),
        headers: Some(HeaderMutation { set_headers: vec![json], ..Default::default() }),
        body,
        details: details.into(),
        ..Default::default()
    }))
}

fn answer(response: Response) -> ProcessingResponse {
    ProcessingResponse { response: Some(response), ..Default::default() }
}
