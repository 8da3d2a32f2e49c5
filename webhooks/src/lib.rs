//! What may enter: verdicts, patches and conversions.
