// How messages say that something went wrong, by kind.

export const FAILED =
  /\b(?:fail\w*|errors?|exception|unable|cannot|can't|could ?n[o']t|couldn't|not|no|unsupported|invalid|incompatible|refused|denied|aborted|panicked|crash(?:ed)?|fatal|bad|missing|unknown|undefined|mismatch\w*|outdated|rejected|corrupt\w*|unresolv\w+|lacks?)\b|Error\b|_ERROR\b|\bERROR_|FAILED/i;
/** As `FAILED`, without the bare words "not", "no", "bad" and "unknown", of which descriptions are full. */
export const REFUSED =
  /\b(?:fail\w*|errors?|exception|unable|cannot|can't|could ?n[o']t|couldn't|unsupported|invalid|incompatible|refused|denied|aborted|panicked|crash(?:ed)?|fatal|missing|undefined|mismatch\w*|outdated|rejected|corrupt\w*|unresolv\w+|lacks?|no such|no [\w ]{1,60} (?:was |were )?found|unknown (?:error|encoder|decoder|symbol|option)|not (?:be )?(?:supported|found|available|implemented|installed|loaded|detected|allowed|compatible|registered|enabled|recogni[sz]ed|running|ready|configured|permitted|accessible|present|used|a function|work\w*))\b|n't work|Error\b|_ERROR\b|\bERROR_|FAILED/i;
export const ABSENT =
  /\bnot (?:integrated|included|linked|part of)\b|\b(?:unable|cannot|can't|couldn't|could not|fail(?:ed)?|not|no)\b[^\n]{0,40}\b(?:load|open|dlopen|find|found|locate|discover|see|access|import|loaded|available|installed|registered|exist|detected|accessible|present|linked|contain)\b|\bmissing\b|cannot be|\bno such file\b|\bfile too short\b|\binvalid ELF header\b|\bplease (?:re)?install\b/i;
export const DIED = /segfault|SIGSEGV|SIGABRT|SIGFPE|SIGBUS|core dumped|access violation|segmentation fault|bad_alloc/i;
export const LOST = /\blost\b|_LOST\b|\bhung\b|_REMOVED\b|\b(?:device|adapter|gpu)\b[^\n]{0,16}\bremoved\b/i;
export const FAULT =
  /\b(?:errors?|fail\w*|failing|exception|aborted|fatal|undefined|not found|invalid|raised)\b|Error\b/i;
/** A fault beyond doubt: a warning, or a thing that was not found and is not needed, is none. */
export const STRONG =
  /^(?!.*\b(?:warn(?:ing)?|loading from source|using default|falling back|round-off)\b)(?=.*(?:\[E\]|\b\w*(?:Error|Exception)\b|\bERROR\b|\berror\b(?! \w+ing)|\b(?:failed|fatal|panicked|aborted)\b|\bFAILED\b|\bassert\w*\b))/i;
