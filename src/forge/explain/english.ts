// What the C library, the loader, the shell and Windows say in other languages, read as English.
//
// Programs speak English, the system beneath them the language of the user: "libcuda.so.1: Kann die Shared-Object-Datei nicht
// öffnen". The patterns know the English words, so those of the other languages are put in their place, each within its line.

/** English words, and what stands for them. */
const SAID: readonly (readonly [english: string, others: readonly string[]])[] = [
  [
    'No such file or directory',
    [
      'Datei oder Verzeichnis nicht gefunden',
      'Aucun fichier ou dossier de ce (?:type|nom)',
      'No existe el (?:archivo|fichero) o el directorio',
      'File o directory non esistente',
      'Arquivo ou diretório (?:inexistente|não encontrado)',
      '没有那个文件或目录',
      '沒有此一檔案或目錄',
      'そのようなファイルやディレクトリはありません',
      '그런 파일이나 디렉[터토]리가 없습니다',
      'Нет такого файла или каталога',
      'Nie ma takiego pliku ani katalogu',
    ],
  ],
  [
    'cannot open shared object file',
    [
      '[Kk]ann (?:die )?Shared-Object-Datei nicht öffnen',
      "[Nn]e peut (?:pas )?ouvrir le fichier d'objet partagé",
      'no se puede abrir el (?:archivo|fichero) del objeto compartido',
      'impossibile aprire (?:il )?file oggetto condiviso',
      '无法打开共享(?:对象|目标)文件',
      '共有オブジェクトファイルを開けません',
      'невозможно открыть разделяемый объектный файл',
      'nie można otworzyć pliku obiektu dzielonego',
    ],
  ],
  [
    'command not found',
    [
      '(?:Befehl|Kommando) nicht gefunden',
      'commande introuvable',
      'orden no encontrada',
      'no se encontró la orden',
      'comando non trovato',
      'comando não encontrado',
      '未找到命令',
      '找不到命令',
      'コマンドが見つかりません',
      '명령어?를 찾을 수 없음',
      'команда не найдена',
      'nie znaleziono polecenia',
    ],
  ],
  [
    'is not recognized as an internal or external command',
    [
      'ist entweder falsch geschrieben oder\\s+konnte nicht gefunden werden',
      "n'est pas reconnu en tant que commande interne",
      'no se reconoce como un comando interno o externo',
      'non è riconosciuto come comando interno o esterno',
      'não é reconhecido como um comando interno',
      '不是内部或外部命令',
      '不是內部或外部命令',
      'は、内部コマンドまたは外部コマンド',
      'не является внутренней или внешней',
    ],
  ],
  [
    'Permission denied',
    [
      'Keine Berechtigung',
      'Permission non accordée',
      'Permiso denegado',
      'Permesso negato',
      'Permissão negada',
      '权限不够',
      '許可がありません',
      '허가 거부',
      'Отказано в доступе',
      'Brak dostępu',
    ],
  ],
  [
    'No such device',
    [
      'Kein passendes Gerät gefunden',
      'Aucun périphérique de ce type',
      'No existe el dispositivo',
      '没有那个设备',
      'そのようなデバイスはありません',
      'Нет такого устройства',
    ],
  ],
  [
    'Operation not permitted',
    ['Die Operation ist nicht erlaubt', 'Opération non permise', 'Operación no permitida', '不允许的操作'],
  ],
  [
    'Cannot allocate memory',
    [
      'Nicht genügend Hauptspeicher verfügbar',
      'Ne peut allouer de la mémoire',
      'No se p(?:udo|uede) asignar memoria',
      'Impossibile allocare memoria',
      '无法分配内存',
      'メモリを確保できません',
      'Невозможно выделить память',
    ],
  ],
  [
    'No space left on device',
    [
      'Auf dem Gerät ist kein Speicherplatz mehr verfügbar',
      'Aucun espace disponible sur le périphérique',
      'No queda espacio en el dispositivo',
      'Não há espaço disponível no dispositivo',
      '设备上没有空间',
      'デバイスに空き領域がありません',
      'На устройстве не осталось свободного места',
    ],
  ],
  [
    'Segmentation fault',
    [
      'Speicherzugriffsfehler',
      'Erreur de segmentation',
      'Violación de segmento',
      'Errore di segmentazione',
      'Falha de segmentação',
      '段错误',
      '段錯誤',
      'Ошибка сегментирования',
      'Naruszenie ochrony pamięci',
    ],
  ],
  ['Illegal instruction', ['Ungültiger Maschinenbefehl', 'Instruction illégale', 'Instrucción ilegal', '非法指令']],
  [
    'Aborted (core dumped)',
    [
      'Abgebrochen \\(Speicherabzug geschrieben\\)',
      'Abandon \\(core dumped\\)',
      "Abort(?:ado|ed) +\\(`core' generado\\)",
      '(?:已放弃|已中止) ?[(（](?:核心已转储|吐核)[)）]',
      'Аварийный останов \\([^)]*памяти[^)]*\\)',
    ],
  ],
  [
    '(core dumped)',
    [
      '\\(Speicherabzug geschrieben\\)',
      "\\(`core' generado\\)",
      '\\(core dump creato\\)',
      '\\(imagem do núcleo gravada\\)',
      '[(（](?:核心已转储|吐核)[)）]',
      '\\((?:образ|стек|сделан дамп) памяти[^)]*\\)',
      '\\(zrzut pamięci\\)',
    ],
  ],
  ['Killed', ['已杀死', 'Getötet', 'Убито']],
  ['Connection refused', ['Verbindungsaufbau abgelehnt', 'Connexion refusée', 'Conexión rehusada', '拒绝连接']],
  [
    'fatal error: ',
    [
      'schwerwiegender Fehler: ',
      'erreur fatale ?: ',
      'error fatal: ',
      '致命错误[：:] ?',
      '致命的エラー: ',
      'фатальная ошибка: ',
    ],
  ],
];

const WORDS: readonly (readonly [RegExp, string])[] = SAID.map(([english, others]) => [
  new RegExp(others.join('|'), 'g'),
  english,
]);

/** Letters that English lacks, or a word of those above that is written without them. */
const FOREIGN =
  /[^\0-\u024f\u2000-\u2bff]|[äöüéèàíóãçñ]|(?:Befehl|Kommando|Verzeichnis) nicht|Abgebrochen|Speicher|introuvable|ce (?:type|nom)\b|Erreur de|Abandon |Connexion|no encontrad|No existe|No queda|No se p|no se (?:puede|reconoce)|Permiso|`core'|non (?:esistente|trovato)|Errore di|Permesso|Impossibile|oggetto|core dump creato|Berechtigung|Shared-Object-Datei|falsch geschrieben|n'est pas|erreur fatale|error fatal|schwerwiegend|Verbindungsaufbau/;

export function inEnglish(line: string): string {
  if (!FOREIGN.test(line)) return line;
  let text = line;
  for (const [words, english] of WORDS) text = text.replace(words, english);
  // The colon of Chinese is a letter wide, that of French has a space before it.
  return text === line ? line : text.replaceAll('：', ': ').replaceAll(' : ', ': ');
}
