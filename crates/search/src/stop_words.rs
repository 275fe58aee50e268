//! Stop words.

/// Stop words of the supported languages, normalized. A product need not contain them, but ranks higher if its name
/// does.
pub(crate) const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "at", "be", "by", "for", "from", "in", "is", "it", "of", "on", "or",
    "some", "that", "the", "this", "to", "with", "without", "my", "i", "need", "want", "buy",
    "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "fur",
    "fuer", "mit", "ohne", "und", "oder", "im", "am", "zum", "zur", "von", "aus", "auf", "bei",
    "le", "la", "les", "l", "un", "une", "de", "du", "d", "et", "ou", "pour", "avec", "sans", "en",
    "au", "aux", "sur", "dans", "el", "los", "las", "una", "unos", "unas", "del", "al", "y", "o",
    "para", "con", "sin", "por", "il", "lo", "gli", "uno", "di", "da", "del", "della", "dello",
    "dei", "delle", "e", "per", "senza", "nel", "nella", "su", "os", "as", "um", "uma", "do",
    "dos", "com", "sem", "het", "een", "van", "voor", "met", "zonder", "op", "te",
];
