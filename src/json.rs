//! A job or message as JSON, as `DQ.MOVE` and `DQ.PUSH ... ENVELOPE` write it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dq_engine::time::UnixMs;
use serde_json::value::RawValue;

/// Writes `{"id":...,"msg":...,"attempt":n,"due":ms}`, without what is `None`. A message that is a JSON object or array is
/// embedded byte for byte, any other as a JSON string; what is not UTF-8 goes into `msg_base64`, `id_base64` instead.
#[must_use]
pub fn object(id: Option<&[u8]>, message: &[u8], attempt: Option<u32>, due: Option<UnixMs>) -> Vec<u8> {
    let mut json = String::with_capacity(message.len() + 128);
    json.push('{');
    if let Some(id) = id {
        push_bytes(&mut json, "id", id);
        json.push(',');
    }
    match embeddable(message) {
        Some(message) => {
            json.push_str("\"msg\":");
            json.push_str(message);
        }
        None => push_bytes(&mut json, "msg", message),
    }
    if let Some(attempt) = attempt {
        json.push_str(",\"attempt\":");
        json.push_str(itoa::Buffer::new().format(attempt));
    }
    if let Some(due) = due {
        json.push_str(",\"due\":");
        json.push_str(itoa::Buffer::new().format(due.0));
    }
    json.push('}');
    json.into_bytes()
}

/// Returns the message if it is a JSON object or array.
fn embeddable(message: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(message).ok()?;
    let first = text.trim_ascii_start().bytes().next()?;
    let value: &RawValue = matches!(first, b'{' | b'[').then(|| serde_json::from_str(text).ok())??;
    // The value is the text without the blanks around it; with them it is still the message byte for byte.
    (!value.get().is_empty()).then_some(text)
}

fn push_bytes(json: &mut String, name: &str, bytes: &[u8]) {
    json.push('"');
    json.push_str(name);
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            json.push_str("\":");
            json.push_str(&serde_json::Value::from(text).to_string());
        }
        Err(_) => {
            json.push_str("_base64\":\"");
            STANDARD.encode_string(bytes, json);
            json.push('"');
        }
    }
}
