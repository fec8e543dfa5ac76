import { ExchangeFileError } from '../../contract/formats/exchange-file-error.ts';
import { MAX_TEXT_CHARACTERS } from '../../contract/formats/text-limit.ts';
import { readCellText } from './cell-text.ts';
import { MAX_PARTS, openWorkbook, type WorkbookParts } from './open-workbook.ts';
import { SheetReader, type SharedParts, type WorkbookOptions } from './read-sheet.ts';
import { RichText } from './rich-text.ts';
import type { NumberFormats } from './shown-number.ts';

/** The file is in memory while it is read: its directory is at its end. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** Texts that several cells refer to, and UTF-16 code units of them. */
const MAX_SHARED = { texts: 4_000_000, characters: 128 * 1024 * 1024 };
/** Formats that a workbook may have. Source: Excel specifications and limits. */
const MAX_FORMATS = 65_490;

interface Sheet {
  readonly name: string;
  readonly path: string;
}

/**
 * Makes a reader of workbooks (ISO/IEC 29500). Each sheet whose first row names the needed columns is a table; the others are left
 * out. A cell is the text that it shows. Formulas are never computed, macros never run, links never followed.
 */
export function createWorkbookReader<C extends string, T>(
  options: WorkbookOptions<C, T>,
): {
  /** Nothing is known before the end, and the bytes must stay as they are until then. @throws ExchangeFileError `limit_exceeded` */
  write(bytes: Uint8Array): T[];
  /** The items, in pieces between which other work goes on. @throws ExchangeFileError with the row and the reason */
  end(): AsyncGenerator<T>;
  /** What was left out, known at the end. */
  notices(): readonly string[];
} {
  const pieces: Uint8Array[] = [];
  const notices: string[] = [];
  let size = 0;
  return {
    write(bytes) {
      size += bytes.length;
      if (size > MAX_FILE_BYTES) {
        const message = `the workbook has more than ${MAX_FILE_BYTES} bytes; divide it, or use CSV`;
        throw new ExchangeFileError('limit_exceeded', message, 1);
      }
      pieces.push(bytes);
      return [];
    },
    end: async function* () {
      const parts = openWorkbook(Buffer.concat(pieces.splice(0)));
      yield* readWorkbook(parts, options, notices);
    },
    notices: () => notices,
  };
}

async function* readWorkbook<C extends string, T>(
  parts: WorkbookParts,
  options: WorkbookOptions<C, T>,
  notices: string[],
): AsyncGenerator<T> {
  const { sheets, shared } = await readHead(parts, notices);
  const leftOut: string[] = [];
  let tables = 0;
  for (const { name, path } of sheets) {
    const shown = JSON.stringify(name.slice(0, 40));
    const reader = new SheetReader(name, options, shared);
    for await (const _ of parts.readInPieces(path, reader, `the sheet ${shown}`)) yield* reader.take();
    yield* reader.take();
    if (reader.isTable) tables += 1;
    else leftOut.push(shown);
  }
  if (tables === 0) {
    const message = `no sheet has a first row with the columns ${options.required.join(' and ')}`;
    throw new ExchangeFileError('structure_invalid', message, 1);
  }
  if (leftOut.length > 0) {
    const names = leftOut.slice(0, 5).join(', ') + (leftOut.length > 5 ? ' and more' : '');
    notices.push(`left out, because their first row does not name the columns: the sheets ${names}`);
  }
}

/** Finds the sheets, and reads what their cells refer to. */
async function readHead(
  parts: WorkbookParts,
  notices: string[],
): Promise<{ readonly sheets: readonly Sheet[]; readonly shared: SharedParts }> {
  const main = [...(await parts.relationships('')).values()].find(({ type }) => type === 'officeDocument');
  if (main === undefined || main.path === null) {
    throw new ExchangeFileError('structure_invalid', 'the file is not a workbook; save it as .xlsx', 1);
  }
  const related = await parts.relationships(main.path);
  const pathOf = (wanted: string): string | null =>
    [...related.values()].find(({ type }) => type === wanted)?.path ?? null;
  const { listed, startsIn1904 } = await readSheetList(parts, main.path);
  const sheets = listed.flatMap(({ id, name }): Sheet[] => {
    const found = related.get(id);
    return found?.type === 'worksheet' && found.path !== null ? [{ name, path: found.path }] : [];
  });
  const types = new Set([...related.values()].map(({ type }) => type));
  if (types.has('vbaProject')) notices.push('the macros of the workbook were left out');
  if (types.has('externalLink')) notices.push('the links of the workbook to other files were not followed');
  const [stylesPath, textsPath] = [pathOf('styles'), pathOf('sharedStrings')];
  const formats =
    stylesPath === null ? { patterns: new Map(), ofCells: [] } : await readFormats(parts, stylesPath);
  const texts = textsPath === null ? [] : await readSharedTexts(parts, textsPath);
  return { sheets, shared: { texts, formats: { ...formats, startsIn1904 } } };
}

async function readSheetList(
  parts: WorkbookParts,
  path: string,
): Promise<{
  readonly listed: readonly { readonly id: string; readonly name: string }[];
  readonly startsIn1904: boolean;
}> {
  const listed: { id: string; name: string }[] = [];
  let startsIn1904 = false;
  await parts.read(path, {
    open: ({ name, attributes }) => {
      if (name === 'workbookPr') startsIn1904 = ['1', 'true'].includes(attributes.get('date1904') ?? '');
      if (name !== 'sheet') return;
      const id = [...attributes].find(([attribute]) => attribute.endsWith(':id'))?.[1];
      if (listed.length === MAX_PARTS) {
        throw new ExchangeFileError('limit_exceeded', `there are more than ${MAX_PARTS} sheets`, 1);
      }
      if (id !== undefined) listed.push({ id, name: attributes.get('name') ?? '' });
    },
    text: () => undefined,
    close: () => undefined,
  });
  return { listed, startsIn1904 };
}

async function readFormats(parts: WorkbookParts, path: string): Promise<Omit<NumberFormats, 'startsIn1904'>> {
  const patterns = new Map<number, string>();
  const ofCells: number[] = [];
  /** The list that is open: another part of the styles repeats the same elements. */
  let list = '';
  await parts.read(path, {
    open: ({ name, attributes }) => {
      const id = Number(attributes.get('numFmtId') ?? 0);
      if (name === 'cellXfs' || name === 'numFmts') list = name;
      else if (name === 'xf' && list === 'cellXfs') ofCells.push(id);
      else if (name === 'numFmt' && list === 'numFmts') patterns.set(id, attributes.get('formatCode') ?? '');
      if (ofCells.length <= MAX_FORMATS && patterns.size <= MAX_FORMATS) return;
      throw new ExchangeFileError('limit_exceeded', `there are more than ${MAX_FORMATS} formats`, 1);
    },
    text: () => undefined,
    close: (name) => {
      if (name === list) list = '';
    },
  });
  return { patterns, ofCells };
}

/** The texts that cells refer to by their numbers. */
async function readSharedTexts(parts: WorkbookParts, path: string): Promise<readonly string[]> {
  const texts: string[] = [];
  let characters = 0;
  const text = new RichText();
  const refuse = (message: string): never => {
    throw new ExchangeFileError('limit_exceeded', message, 1);
  };
  await parts.read(path, {
    open: ({ name }) => text.open(name),
    text: (part) => {
      if (!text.add(part)) refuse(`a shared text has more than ${MAX_TEXT_CHARACTERS} characters`);
    },
    close: (name) => {
      text.close(name);
      if (name !== 'si') return;
      const shared = text.take();
      texts.push(readCellText(shared));
      characters += shared.length;
      if (texts.length <= MAX_SHARED.texts && characters <= MAX_SHARED.characters) return;
      refuse(
        `there are more than ${MAX_SHARED.texts} shared texts, or ${MAX_SHARED.characters} characters of them`,
      );
    },
  });
  return texts;
}
