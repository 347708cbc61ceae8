// Kinds of lines, by how they read: what programs note for their own record, warn of, what compilers say, what people tell.

/** A pattern for lines that one of several fits. */
const anyOf = (...patterns: readonly RegExp[]): RegExp => new RegExp(patterns.map((p) => p.source).join('|'));

/** Lines that a program prints for its own record: they tell of no fault, whatever words they hold. */
export const RECORD = anyOf(
  /NCCL INFO/,
  /\[Gloo\] Rank \d+ is connected/,
  /not compiled with retpoline/,
  /taints kernel/,
  /\[I [\w.]+:\d+\]/,
  /^I\d{4} [\d:.]+ +\d+ \S+:\d+\] (?!.*\b(?:fail\w*|error|backend)\b)/,
  /level=DEBUG(?![^\n]*\berror=)/,
  /\bregistered at \//,
  /(?<!level=)\bDEBUG\b[ :]/,
  /\[I\]/,
  /\[(?:INFO|[Ii]nfo|[Dd]ebug|trace)\]/,
  /\bFailed to open libibverbs/,
  /\[W socket\.cpp[^\n]*\berrno: 97\b/,
  /^\s*[✓✔]/,
  /^\s*(?:#define )?(?:CUDA|CUDNN|CUBLAS|NCCL|HIP|CL|VK)_\w+ *=? *-?(?:0x)?\d+,?$/,
  /\bUnable to initialize backend '(?!cuda|gpu|rocm|xla_gpu)\w+'/,
  /\b(?:is|are) (?:benign|harmless)\b/,
  /\bcan be (?:safely )?ignored\b/,
  /\bfail(?:ed|ure), continuing\b/,
  /\bFor bug reports, please\b/,
  /\bsafely ignore\b|\b[Ii]gnor(?:e|ing) import error\b/,
  /\b(?:Future|Deprecation|PendingDeprecation)Warning\b/,
  /is deprecated/,
  /[Bb]uilding from source\.\.\./,
  /\b(?:Processing|Proceeding) without\b/,
  /\berror while handling argument\b/,
  /: +Could not collect\b/,
  /: +\(not found\)$/,
  /: no version information available \(required by/,
  /\[installed(?:,[\w/ ]+)?\]$/,
  // What went well, what was changed, and a plan that another one takes the place of.
  /^\s*(?:PASSED|ok \d+)\b|\b[Tt]est passed\b|\bPASSED +\[ *\d+%\]/,
  /^\s*[-*•] (?:\[\w+\] ?)?(?:[\w/.() -]{1,30}: )?(?:[Ff]ix(?:e[sd])?|[Aa]dd(?:s|ed)?|[Rr]emoved?|[Uu]pdated?|[Ii]mproved?|[Ss]upport|[Rr]esolved?|[Aa]void(?:s|ed)?|[Pp]revent(?:s|ed)?|[Hh]andled?|[Bb]ump(?:s|ed)?|[Ee]nsured?)\b(?!.*:$)/,
  /^\s*(?:Fixe[sd]|Added|Adds|Improve[sd]?|Bump(?:s|ed)) [\w`"'-]+ (?!.*:$)/,
  /^\s*[-*•] \[(?:[Bb]ug[Ff]ix|[Ff]eature|[Cc]hore|[Dd]oc|[Cc][Ii])\]/,
  /\bPlan failed with an? \w+Exception/,
  /^(?:ii|un|rc|iU) {2,}\S/,
  /^\s*cl(?:Get|Create)\w+\(NULL, /,
  /^\s*[Cc]hecking (?!.*\berror:)(?:for |whether )?\S+?\.\.\./,
  /(?:^|[\s/\\])(?:cc|c\+\+|gcc|g\+\+|clang|clang\+\+|nvcc|hipcc|icpx?|cl)(?:\.exe)? (?:[-/]\S+ ){3}(?!.*(?:error|fatal)(?::| [A-Z]\d))/,
);

/** Warnings, lines of the level "info", and programs that are not there: only a class with words of its own takes one for a fault. */
export const NOTICE = anyOf(
  /\byou can ignore this (?:warning|message)\b/,
  /\b[Uu]sing default\b/,
  /\| WARNING \|/,
  /\b[Pp]erformance (?:might|may|will) be\b/,
  /\bOSError: \[Errno 2\] No such file or directory: '[^'\n]*\.whl'/,
  /\b[Ff]alling back to\b/,
  // Advice, not a report.
  /^(?:When|Whenever) [a-zA-Z]/,
  // A command that did not run: the packages in it are its arguments.
  /\b(?:running|command)\b[^\n]{0,30}\b(?:pip3?|conda|uv)\b[^\n]{0,12}\binstall\b/i,
  /\b[Uu]nused (?:kwargs|arguments?|parameters?)\b/,
  /^(?:ls|cat|grep|find|cp|mv|rm|stat): /,
  /^\s*-- (?!.*\bCMake Error)/,
  /^\S{0,30}\s*\[?WARN(?:ING)?\]?[ :](?! ?GENERAL)(?!.*\b(?:error|fail\w*|exception|cannot|can't|could not|unable|not (?:found|installed|compiled|available))\b)/,
  /^(?:-- )?\s*[Ww]arning:/,
  /(?<!nvidia-smi|nvcc|hipcc|rocminfo|rocm-smi|sycl-ls): command not found/,
  /^\s*(?:INFO|DEBUG|info|debug|trace)[: ]/,
  /^\[?[\d:., T/-]{8,}Z?\]?:? {0,3}\[?(?:Info|INFO|Debug|Verbose|Trace|TRACE)\b/,
  /^\S{0,30} I (?:tensorflow|external)\//,
);

/**
 * A compiler or a linker speaks. What it says is about the source, whatever names stand in it; only classes of builds take such
 * a line for theirs.
 */
export const COMPILER = anyOf(
  /^(?:\S+ )?[\w./\\+~:-]+\.(?:c|cc|cpp|cxx|cu|cuh|h|hh|hpp|inl|hip|m|mm)(?::\d+){1,2}: (?:fatal )?error: /,
  /^(?:\d+>)?[\w./\\+~: -]+\.(?:c|cc|cpp|cxx|cu|cuh|h|hpp)\(\d+\) ?: (?:fatal )?error\b/,
  /\berror LNK\d{4}\b/,
  /\bundefined reference (?:to|for)\b/,
  /^(?:\S*\/)?(?:ld|collect2)(?:\.\w+)?: /,
  /\bcannot find -l\w/,
);

/** Somebody called a program in a way that it does not know. */
export const USAGE =
  /\berror: (?:argument |unrecognized arguments|the following arguments are required|invalid choice|option \S+ not recognized)/;

/** Python's exceptions that tell of a mistake in a program, whatever packages its message names. */
export const PROGRAMMER = anyOf(
  /^\s*(?:\w+\.)*(?:Type|Key|Index|Attribute|Name|UnboundLocal|ZeroDivision|Recursion|JSONDecode|Syntax|Indentation)Error\b/,
  USAGE,
);

/** A person tells of a fault: the words around it are the story, not the program's. */
export const TOLD =
  /^(?!.*(?:\w(?:Error|Exception)\b|\b(?:FATAL|ERROR|[Ee]rror): |["'`*].{12,}["'`*]|0x[\dA-F]{8}))(?:.*\b(?:I(?! \w+\/)|I'm|I've|my|we (?:are|get|got|have|tried|use))\b|\W*[Tt]rying to \w+|\s*[-*•] [a-z]+ (?:[\w/-]+:? ){4,}|.*\bit (?:crashes|fails|works)\b)/;
