//! A layer of `tracing` that puts finished spans with their events into a queue; it never waits.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Attributes of one span or event; ours have a handful.
const ATTRIBUTES_AT_MOST: usize = 32;
/// Events of one span; a reconcile says a few things.
const EVENTS_AT_MOST: usize = 64;
/// Bytes of one text: an error that lists a whole object is not what a trace is for.
const TEXT_AT_MOST: usize = 2048;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Number(i64),
    Real(f64),
    Flag(bool),
}

/// Names and values in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fields(pub(super) Vec<(&'static str, Value)>);

/// Something that was said in a span.
#[derive(Clone, Debug)]
pub(super) struct SpanEvent {
    pub(super) at: u128,
    pub(super) words: String,
    pub(super) fields: Fields,
}

/// A span that is over. Times are nanoseconds since 1970.
#[derive(Clone, Debug)]
pub(super) struct FinishedSpan {
    pub(super) trace: u128,
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) name: &'static str,
    pub(super) began: u128,
    pub(super) ended: u128,
    pub(super) fields: Fields,
    pub(super) events: Vec<SpanEvent>,
    /// The error, if any.
    pub(super) error: Option<String>,
}

/// Hands finished spans over.
pub(crate) struct Spans {
    queue: mpsc::Sender<FinishedSpan>,
    pub(super) lost: Arc<AtomicU64>,
}

impl Spans {
    pub(super) fn new(queue: mpsc::Sender<FinishedSpan>, lost: Arc<AtomicU64>) -> Self {
        Self { queue, lost }
    }
}

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

impl<S> Layer<S> for Spans
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let above = span.parent().and_then(|parent| {
            let extensions = parent.extensions();
            extensions.get::<FinishedSpan>().map(|parent| (parent.trace, parent.id))
        });
        let trace = above.map_or_else(|| uuid::Uuid::new_v4().as_u128(), |(trace, _)| trace);
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let began = now();
        span.extensions_mut().insert(FinishedSpan {
            trace,
            // Never 0, which means none: a version is among these bits.
            id: uuid::Uuid::new_v4().as_u64_pair().0,
            parent: above.map(|(_, id)| id),
            name: span.name(),
            began,
            ended: began,
            fields,
            events: Vec::new(),
            error: None,
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<FinishedSpan>() {
            values.record(&mut open.fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let Some(span) = context.event_span(event) else { return };
        let mut extensions = span.extensions_mut();
        let Some(open) = extensions.get_mut::<FinishedSpan>() else { return };
        let mut fields = Fields::default();
        event.record(&mut fields);
        let words = fields.take_text("message");
        if *event.metadata().level() <= Level::WARN {
            open.error = Some(match fields.text("error") {
                "" => words.clone(),
                error => format!("{words}: {error}"),
            });
        }
        if open.events.len() < EVENTS_AT_MOST {
            open.events.push(SpanEvent { at: now(), words, fields });
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(mut open) = span.extensions_mut().remove::<FinishedSpan>() else { return };
        open.ended = now();
        // A warning on the way is told as an event; what came of it in the end is the result's to say.
        if open.fields.text("result") != "error" {
            open.error = None;
        }
        if self.queue.try_send(open).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        let name = field.name();
        if let Some((_, old)) = self.0.iter_mut().find(|(known, _)| *known == name) {
            *old = value;
        } else if self.0.len() < ATTRIBUTES_AT_MOST {
            self.0.push((name, value));
        }
    }

    fn text(&self, name: &str) -> &str {
        match self.0.iter().find(|(known, _)| *known == name) {
            Some((_, Value::Text(text))) => text,
            _ => "",
        }
    }

    fn take_text(&mut self, name: &str) -> String {
        let text = self.text(name).to_owned();
        self.0.retain(|(known, _)| *known != name);
        text
    }
}

fn short(mut text: String) -> Value {
    if text.len() > TEXT_AT_MOST {
        text.truncate(text.floor_char_boundary(TEXT_AT_MOST));
        text.push('…');
    }
    Value::Text(text)
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field, short(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, short(value.to_owned()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, Value::Number(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, i64::try_from(value).map_or_else(|_| Value::Text(value.to_string()), Value::Number));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, Value::Real(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, Value::Flag(value));
    }
}
