import { ExchangeFileError, type ExchangeFileReason } from '../../contract/formats/exchange-file-error.ts';
import { bytesSource } from '../../formats/byte-source.ts';
import { FormatError } from '../../formats/format-error.ts';
import { READ_LIMITS } from '../../formats/value-visitor.ts';
import { openZip, type ZipArchive } from '../../formats/zip/open-zip.ts';
import type { ZipEntry } from '../../formats/zip/zip-directory.ts';
import { createXmlReader, type XmlElement } from '../xml/xml-reader.ts';

/** Bytes of all parts that are read, unpacked. */
const MAX_UNPACKED_BYTES = 512 * 1024 * 1024;
/** Sheets, pictures and all other parts, and the places that name them. */
export const MAX_PARTS = 20_000;
/** Parts are unpacked in pieces, so their ratio says nothing. */
const ZIP_LIMITS = { ...READ_LIMITS, elements: MAX_PARTS, entryBytes: MAX_UNPACKED_BYTES, ratio: Infinity };
/** Begins a file of the formats before XLSX, and one with a password. */
const COMPOUND_FILE = Buffer.of(0xd0, 0xcf, 0x11, 0xe0);

interface PartVisitor {
  open(element: XmlElement): void;
  text(text: string): void;
  close(name: string): void;
}

/** A relationship of a part to another one. */
interface Relationship {
  /** The last name of its type, such as `worksheet`. */
  readonly type: string;
  /** The path of the other part; `null` for something outside of the file, which is never read. */
  readonly path: string | null;
}

/** The parts of a workbook. All of its methods throw an ExchangeFileError with the part, the line and the reason. */
export interface WorkbookParts {
  /** Whether there is a part. */
  has(path: string): boolean;
  /** Reads a part to its end. */
  read(path: string, visitor: PartVisitor): Promise<void>;
  /** Reads a part, and yields after each piece of it. @param where how a person finds it, such as `the sheet "a.json"` */
  readInPieces(path: string, visitor: PartVisitor, where: string): AsyncGenerator<undefined>;
  /** The relationships of a part by their ids; of the whole file with an empty path. */
  relationships(path: string): Promise<ReadonlyMap<string, Relationship>>;
}

/**
 * Opens a workbook. Each part is unpacked when it is read; together they may have at most 512 MiB.
 *
 * @throws ExchangeFileError
 */
export function openWorkbook(bytes: Buffer): WorkbookParts {
  if (bytes.subarray(0, COMPOUND_FILE.length).equals(COMPOUND_FILE)) {
    const message =
      'the file is in the old .xls format or is password-protected; save it as .xlsx without a password';
    throw new ExchangeFileError('structure_invalid', message, 1);
  }
  const zip = named('the file', () => openZip(bytesSource(bytes), ZIP_LIMITS));
  // Names of parts are the same in upper and lower case. Source: ISO/IEC 29500-2, 6.2.2.3.
  const entries = new Map(zip.entries.map((entry) => [entry.name.toLowerCase(), entry]));
  if (entries.size < zip.entries.length) {
    refuse('structure_invalid', 'the file has two parts of one name; save it again as .xlsx');
  }
  let unpacked = 0;
  const entryOf = (path: string): ZipEntry => {
    const entry = entries.get(path.toLowerCase());
    if (entry === undefined) return refuse('structure_invalid', `the file has no part ${printed(path)}`);
    unpacked += entry.uncompressedSize;
    if (unpacked <= MAX_UNPACKED_BYTES) return entry;
    return refuse(
      'limit_exceeded',
      `the parts of the file have more than ${MAX_UNPACKED_BYTES} bytes unpacked`,
    );
  };
  const readInPieces: WorkbookParts['readInPieces'] = async function* (path, visitor, where) {
    try {
      yield* readPart(zip, entryOf(path), visitor);
    } catch (error) {
      throw placed(where, error);
    }
  };
  const read: WorkbookParts['read'] = async (path, visitor) => {
    const pieces = readInPieces(path, visitor, `the part ${printed(path)}`);
    while ((await pieces.next()).done !== true);
  };
  return {
    has: (path) => entries.has(path.toLowerCase()),
    read,
    readInPieces,
    relationships: async (path) => await readRelationships(read, path),
  };
}

async function* readPart(zip: ZipArchive, entry: ZipEntry, visitor: PartVisitor): AsyncGenerator<undefined> {
  const reader = createXmlReader(visitor);
  for await (const bytes of zip.streamEntry(entry)) {
    reader.write(bytes);
    yield undefined;
  }
  reader.end();
}

async function readRelationships(
  read: WorkbookParts['read'],
  path: string,
): Promise<ReadonlyMap<string, Relationship>> {
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const found = new Map<string, Relationship>();
  await read(`${folder}_rels/${path.slice(folder.length)}.rels`, {
    open: ({ name, attributes }) => {
      const [id, type, target] = ['Id', 'Type', 'Target'].map((each) => attributes.get(each));
      if (name !== 'Relationship' || id === undefined || type === undefined || target === undefined) return;
      if (found.size === MAX_PARTS)
        refuse('limit_exceeded', `there are more than ${MAX_PARTS} relationships`);
      const isOutside = attributes.get('TargetMode') === 'External';
      found.set(id, {
        type: type.slice(type.lastIndexOf('/') + 1),
        path: isOutside ? null : resolved(folder, target),
      });
    },
    text: () => undefined,
    close: () => undefined,
  });
  return found;
}

/** The path of a part that another one names. */
function resolved(folder: string, target: string): string {
  const parts: string[] = [];
  for (const part of (target.startsWith('/') ? target : folder + target).split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/');
}

function named<Result>(place: string, step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw placed(place, error);
  }
}

/** An error that names its place in the workbook. Its line is that of the part, or the row of a sheet. */
function placed(place: string, error: unknown): unknown {
  if (error instanceof ExchangeFileError) {
    const message = error.message.replace(/^line \d+: /, '');
    return new ExchangeFileError(error.reason, `${place}: ${message}`, error.line ?? 1);
  }
  if (!(error instanceof FormatError)) return error;
  if (error.code === 'zip_limit_exceeded') {
    return new ExchangeFileError('limit_exceeded', `${place}: ${error.message}`, 1);
  }
  const message = `${place}: ${error.message}; the file is damaged or cut off, so copy it or save it as .xlsx again`;
  return new ExchangeFileError('syntax_invalid', message, 1);
}

function refuse(reason: ExchangeFileReason, message: string): never {
  throw new ExchangeFileError(reason, message, 1);
}

function printed(path: string): string {
  return JSON.stringify(path.slice(0, 100).toWellFormed());
}
