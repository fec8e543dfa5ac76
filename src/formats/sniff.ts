import { isUtf8 } from 'node:buffer';
import { beginsZlib } from './gzip/compressed-file.ts';
import { looksLikeMessagePack } from './messagepack-head.ts';
import { isSerializedHead } from './unity/serialized-header.ts';

/** Formats that hold text and are known by name only: no reader opens them. */
export const NAMED_FORMATS = {
  xlsx: 'Excel workbook',
  office: 'office document',
  yaml: 'YAML',
  messagepack: 'MessagePack',
  mo: 'compiled gettext catalog',
  plist: 'binary property list',
  xp3: 'KiriKiri archive',
  rpa: "Ren'Py archive",
  rpyc: "compiled Ren'Py script",
  rgss: 'RPG Maker archive',
  'ruby-marshal': 'data of RPG Maker XP, VX and VX Ace',
  'godot-pack': 'Godot package',
} as const satisfies Record<string, string>;

type NamedFormat = keyof typeof NAMED_FORMATS;

/** Whether a format is known by name only. */
export function isNamedFormat(format: string): format is NamedFormat {
  return Object.hasOwn(NAMED_FORMATS, format);
}

/**
 * The format of a file, as far as its first bytes and its name show it. `unity` is a bundle, `serialized` a file of Unity
 * outside of a bundle, `binary` a known format without text, `unknown` anything else.
 */
export type SniffedFormat =
  | 'unity'
  | 'serialized'
  | 'zip'
  | 'sqlite'
  | 'json'
  | 'csv'
  | 'tsv'
  | 'text'
  | 'tyrano'
  | 'renpy'
  | 'yarn'
  | 'properties'
  | 'strings'
  | 'rpg-maker'
  | 'xml'
  | 'android'
  | 'resx'
  | 'po'
  | 'gzip'
  | 'zlib'
  | NamedFormat
  | 'binary'
  | 'unknown';

/** Bytes of the start of a file that {@link sniffFormat} uses; more are ignored. */
export const SNIFFED_BYTES = 4096;

interface Magic {
  readonly format: SniffedFormat;
  readonly bytes: Buffer;
  readonly at: number;
}

const magic = (format: SniffedFormat, bytes: string, at = 0): Magic => ({
  format,
  bytes: Buffer.from(bytes, 'latin1'),
  at,
});

const MAGICS: readonly Magic[] = [
  magic('unity', 'UnityFS\0'),
  magic('unity', 'UnityWeb\0'),
  magic('unity', 'UnityRaw\0'),
  magic('unity', 'UnityArchive\0'),
  magic('zip', 'PK\u0003\u0004'),
  magic('zip', 'PK\u0005\u0006'),
  magic('sqlite', 'SQLite format 3\0'),
  // Pictures.
  magic('binary', '\u0089PNG\r\n\u001A\n'),
  magic('binary', '\u00FF\u00D8\u00FF'),
  magic('binary', 'GIF8'),
  magic('binary', 'DDS '),
  magic('binary', '\u00ABKTX '),
  // Sound and video. RIFF holds wav, webp and avi.
  magic('binary', 'OggS'),
  magic('binary', 'RIFF'),
  magic('binary', 'ID3'),
  magic('binary', 'fLaC'),
  magic('binary', '@UTF'),
  magic('binary', 'AFS2'),
  magic('binary', 'CRID'),
  magic('binary', 'FSB5'),
  magic('binary', 'BKHD'),
  magic('binary', 'ftyp', 4),
  magic('binary', '\u001AE\u00DF\u00A3'),
  // Programs.
  magic('binary', '\0asm'),
  magic('binary', '\u007FELF'),
  magic('binary', 'MZ\u0090\0'),
  magic('binary', '\u00CF\u00FA\u00ED\u00FE'),
  magic('binary', '\u00CA\u00FE\u00BA\u00BE'),
  magic('binary', '\u00AF\u001B\u00B1\u00FA'),
  // Fonts.
  magic('binary', 'OTTO'),
  magic('binary', 'wOFF'),
  magic('binary', 'wOF2'),
  magic('binary', '\0\u0001\0\0\0'),
  magic('gzip', '\u001F\u008B\b'),
  magic('mo', '\u00DE\u0012\u0004\u0095'),
  magic('mo', '\u0095\u0004\u0012\u00DE'),
  magic('plist', 'bplist00'),
  magic('xp3', 'XP3\r\n \n\u001A'),
  magic('rpa', 'RPA-3.'),
  magic('rpyc', 'RENPY RPC2'),
  magic('rgss', 'RGSSAD\0'),
  magic('godot-pack', 'GDPC'),
  // Compressed files that no reader opens.
  magic('binary', "7z\u00BC\u00AF'\u001C"),
  magic('binary', '(\u00B5/\u00FD'),
];

const TEXT_MARKS = [Buffer.of(0xef, 0xbb, 0xbf), Buffer.of(0xff, 0xfe), Buffer.of(0xfe, 0xff)];

const EXTENSIONS = new Map<string, SniffedFormat>([
  ['json', 'json'],
  ['csv', 'csv'],
  ['tsv', 'tsv'],
  ['txt', 'text'],
  ['ks', 'tyrano'],
  ['rpy', 'renpy'],
  ['yarn', 'yarn'],
  ['properties', 'properties'],
  ['strings', 'strings'],
  ['po', 'po'],
  ['pot', 'po'],
  ['xml', 'xml'],
  ['resx', 'resx'],
  ['resw', 'resx'],
  ['yaml', 'yaml'],
  ['yml', 'yaml'],
]);

/** Marshal of Ruby, version 4.8. Its two bytes are no signature, so the names of RPG Maker decide. */
const RUBY_MARSHAL = { bytes: Buffer.of(4, 8), name: /\.rvdata2?$|\.rxdata$/i };
/** What the archive of an office document begins with, and the names of such documents. */
const OFFICE = {
  entry: /^(?:\[Content_Types\]\.xml|_rels\/|xl\/|word\/|ppt\/|docProps\/|mimetype)/,
  workbook: /\.xls[xm]$/i,
  other: /\.(?:doc[xm]|ppt[xm]|od[pst])$/i,
};
const ZIP_NAME_AT = 30;
/** The data of RPG Maker MV and MZ: names of files, and how each begins. */
const RPG_MAKER = [
  { name: /(?:^|\/)Map\d{3}\.json$/, text: /"autoplayBgm":/ },
  { name: /(?:^|\/)data\/System\.json$/, text: /"airship":/ },
  {
    name: /(?:^|\/)data\/(?:Actors|Animations|Armors|Classes|CommonEvents|Enemies|Items|MapInfos|Skills|States|Tilesets|Troops|Weapons)\.json$/,
    text: /^\s*\[\s*null,\s*\{"id":1,/,
  },
];

/**
 * Names the format of a file: by its first bytes, then by the extension of its name, then by whether it looks like text.
 *
 * @param head the first {@link SNIFFED_BYTES} bytes, or the whole file if it is shorter
 */
export function sniffFormat(head: Uint8Array, name: string): SniffedFormat {
  const start = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, SNIFFED_BYTES));
  const known = MAGICS.find(({ bytes, at }) => bytes.equals(start.subarray(at, at + bytes.length)));
  const mark = TEXT_MARKS.find((each) => each.equals(start.subarray(0, each.length)));
  const text = textOf(start, mark);
  // Some signatures of pictures and sound are letters, with which a text can begin as well.
  const office = known?.format === 'zip' ? officeFormat(start, name) : null;
  if (office !== null) return office;
  if (known !== undefined && (known.format !== 'binary' || text === null)) return known.format;
  if (RUBY_MARSHAL.name.test(name) && start.subarray(0, 2).equals(RUBY_MARSHAL.bytes)) return 'ruby-marshal';
  if (isSerializedHead(start)) return 'serialized';
  const byName = EXTENSIONS.get(/\.([a-z]+)$/.exec(name.toLowerCase())?.[1] ?? '');
  // A file with the name of a text format can be in an encoding that only a rule knows, so its bytes are not asked.
  if (byName !== undefined && (mark !== undefined || !start.includes(0))) {
    return detailed(byName, name, text ?? start.toString('latin1'));
  }
  if (text !== null) return detailed(looksLikeJson(text) ? 'json' : 'text', name, text);
  if (beginsZlib(start)) return 'zlib';
  return looksLikeMessagePack(start) ? 'messagepack' : 'unknown';
}

/** A format that engines and platforms use in their own way, and texts that show their format by how they begin. */
function detailed(format: SniffedFormat, name: string, text: string): SniffedFormat {
  if (format === 'json') {
    const isRpgMaker = RPG_MAKER.some((each) => each.name.test(name) && each.text.test(text));
    return isRpgMaker ? 'rpg-maker' : 'json';
  }
  if (format === 'text' && text.startsWith('%YAML ')) return 'yaml';
  if (format === 'xml' || (format === 'text' && /^<\?xml\s/.test(text))) {
    return /<resources[\s>]/.test(text) ? 'android' : 'xml';
  }
  return format;
}

/**
 * What in a name helps to find the format: equal bytes can give other texts under names that differ in it. A compressed file
 * has the extension of the file in it in front of its own.
 */
export function formatHint(name: string): string {
  const extensions = /(?:\.[^./]{1,16}){1,2}$/.exec(name)?.[0].toLowerCase() ?? '';
  return RPG_MAKER.some((each) => each.name.test(name)) ? `rpg-maker${extensions}` : extensions;
}

/** The format of an archive that is an office document. */
function officeFormat(start: Buffer, name: string): 'xlsx' | 'office' | null {
  if (!OFFICE.entry.test(start.toString('latin1', ZIP_NAME_AT, ZIP_NAME_AT + 32))) return null;
  if (OFFICE.workbook.test(name)) return 'xlsx';
  return OFFICE.other.test(name) ? 'office' : null;
}

/** The start of a text in UTF-8, or in UTF-16 with a byte order mark; `null` if it is not such a text. */
function textOf(start: Buffer, mark: Buffer | undefined): string | null {
  if (start.length === 0) return null;
  if (mark?.length === 2) {
    return new TextDecoder(mark[0] === 0xff ? 'utf-16le' : 'utf-16be').decode(start);
  }
  // A head that is shorter than the file can end within a character.
  const cuts = start.length === SNIFFED_BYTES ? [0, 1, 2, 3] : [0];
  const isText = cuts.some((cut) => isUtf8(start.subarray(0, start.length - cut)));
  const text = start.toString('utf8', mark?.length ?? 0);
  // oxlint-disable-next-line no-control-regex -- text has no other control characters than these
  return isText && !/[\x00-\x08\x0E-\x1A\x1C-\x1F]/.test(text) ? text : null;
}

/** An object or an array, and what can follow its bracket. */
function looksLikeJson(text: string): boolean {
  return /^\s*(?:\{\s*(?:["}]|$)|\[\s*(?:[[{"\]\d-]|true|false|null|$))/.test(text);
}
