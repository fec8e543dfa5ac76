import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import type { FileWriter } from '../file-codec.ts';
import { emptyElement, escapeXmlText, startTag } from '../xml/xml-text.ts';
import { cellText, columnLetters } from './cell-text.ts';
import { createSheetNames } from './sheet-names.ts';
import { RELATIONSHIP, RELATIONSHIPS, SPREADSHEET } from './workbook-names.ts';

/** Rows of a workbook, or the beginning of its next sheet. */
export interface WorkbookPart {
  /** The name of the sheet that begins here; `null` for the sheet before. */
  readonly opens: string | null;
  readonly rows: string;
}

interface WorkbookLayout<Entry, Column extends string> {
  readonly columns: readonly Column[];
  /** Columns with long texts, which are wrapped. */
  readonly wide: ReadonlySet<Column>;
  /** Columns that people may change. */
  readonly editable: ReadonlySet<Column>;
  /** The file that an entry belongs to. Entries of a file that follow each other are in one sheet. */
  readonly fileOf: (entry: Entry) => string;
  /** The name of an entry, for the message of a refusal. */
  readonly nameOf: (entry: Entry) => string;
  readonly cellsOf: (entry: Entry) => Readonly<Record<Column, string | null>>;
}

/** Spreadsheets get slow with more. The other files are in the last sheet together; its rows name them. */
const MAX_SHEETS = 1000;
/** Rows of a sheet, that of the names included. Source: Excel specifications and limits. */
const MAX_ROWS = 1_048_576;
const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
/** The formats of cells in {@link STYLES}. */
const STYLE = { locked: 1, lockedWide: 2, editable: 3, head: 4 } as const;
const WIDTH = { wide: 60, narrow: 16 } as const;

/** Makes a writer of the rows of a workbook; {@link packWorkbook} makes the file of them. */
export function createWorkbookWriter<Entry, Column extends string>(
  layout: WorkbookLayout<Entry, Column>,
): FileWriter<Entry, WorkbookPart> {
  const { columns, fileOf, nameOf, cellsOf } = layout;
  const nameSheet = createSheetNames();
  let file: string | null = null;
  let sheets = 0;
  let rows = 0;

  const open = (path: string): string => {
    file = path;
    sheets += 1;
    rows = 1;
    return nameSheet(sheets < MAX_SHEETS ? path : 'further files');
  };

  return {
    begin: () => ({ opens: null, rows: '' }),
    write(entry) {
      const isNew = file === null || rows === MAX_ROWS || (fileOf(entry) !== file && sheets < MAX_SHEETS);
      const at = isNew ? 2 : rows + 1;
      // The cells come first: nothing changes when one is refused.
      const cells = cellsOf(entry);
      const written = columns.map((column, index) => {
        const style = styleOf(layout, column);
        const text = cells[column];
        return cell(at, index, style, text === null ? '' : cellText(`${nameOf(entry)}: ${column}`, text));
      });
      const opens = isNew ? open(fileOf(entry)) : null;
      rows += 1;
      return { opens, rows: `${isNew ? head(layout) : ''}${row(at, written)}` };
    },
    end: () => (file === null ? { opens: open('units'), rows: head(layout) } : { opens: null, rows: '' }),
  };
}

function styleOf<Column extends string>(
  { wide, editable }: WorkbookLayout<never, Column>,
  column: Column,
): number {
  if (editable.has(column)) return STYLE.editable;
  return wide.has(column) ? STYLE.lockedWide : STYLE.locked;
}

/** The beginning of a sheet: the row with the names of the columns stays in view. */
function head<Column extends string>(layout: WorkbookLayout<never, Column>): string {
  const { columns, wide } = layout;
  const pane = { ySplit: '1', topLeftCell: 'A2', activePane: 'bottomLeft', state: 'frozen' };
  const widths = columns.map((column, index) =>
    emptyElement('col', {
      min: String(index + 1),
      max: String(index + 1),
      width: String(wide.has(column) ? WIDTH.wide : WIDTH.narrow),
      style: String(styleOf(layout, column)),
      customWidth: '1',
    }),
  );
  const names = columns.map((column, index) => cell(1, index, STYLE.head, column));
  return [
    DECLARATION,
    startTag('worksheet', { xmlns: SPREADSHEET }),
    `<sheetViews><sheetView workbookViewId="0">${emptyElement('pane', pane)}<selection pane="bottomLeft"/></sheetView></sheetViews>`,
    `<cols>${widths.join('')}</cols><sheetData>\n`,
    row(1, names),
  ].join('');
}

/** Without a password: the lock keeps people from changing a source by mistake. */
const SHEET_END =
  '</sheetData><sheetProtection sheet="1" objects="1" scenarios="1" formatCells="0" formatColumns="0" formatRows="0"/></worksheet>';

function row(at: number, cells: readonly string[]): string {
  return `<row r="${at}">${cells.join('')}</row>\n`;
}

/** A text in the cell itself, so that nothing has to be kept until the end. An empty one keeps its format. */
function cell(at: number, column: number, style: number, text: string): string {
  const place = `<c r="${columnLetters(column)}${at}" s="${style}"`;
  if (text === '') return `${place}/>`;
  return `${place} t="inlineStr"><is><t xml:space="preserve">${escapeXmlText(text)}</t></is></c>`;
}

/**
 * Packs the parts of a workbook into a file, as they come. The same parts give the same bytes.
 *
 * @throws the error of the parts
 */
export async function* packWorkbook(parts: AsyncIterable<WorkbookPart>): AsyncGenerator<Uint8Array> {
  const zip = new ZipFile();
  // Its types are older than streams that can be destroyed.
  const output = zip.outputStream as Readable;
  const fail = (error: Error): void => void output.destroy(error);
  zip.on('error', fail);
  const iterator = parts[Symbol.asyncIterator]();
  const names: string[] = [];
  const addText = (path: string, text: string): void => {
    zip.addBuffer(Buffer.from(DECLARATION + text), path, ENTRY);
  };
  /** Adds a sheet, and after it what follows: the zip archive reads its sheets one after the other. */
  const addSheet = (name: string, first: string): void => {
    names.push(name);
    const next = (opens: string | null, rows: string): void => {
      if (opens !== null) return addSheet(opens, rows);
      addText('xl/workbook.xml', workbook(names));
      addText('xl/_rels/workbook.xml.rels', workbookRelationships(names.length));
      zip.end();
    };
    const sheet = Readable.from(inPieces(sheetOf(iterator, first, next)));
    // The archive leaves the errors of its entries to us.
    sheet.on('error', fail);
    zip.addReadStream(sheet, `xl/worksheets/sheet${names.length}.xml`, ENTRY);
  };
  try {
    addText('[Content_Types].xml', CONTENT_TYPES);
    addText('_rels/.rels', PACKAGE_RELATIONSHIPS);
    addText('xl/styles.xml', STYLES);
    let part = await iterator.next();
    while (part.done !== true && part.value.opens === null) part = await iterator.next();
    if (part.done === true) throw new Error('a workbook has no sheet');
    addSheet(part.value.opens ?? '', part.value.rows);
    for await (const bytes of output) yield bytes as Uint8Array;
  } finally {
    await iterator.return?.();
  }
}

/** The text of a sheet. @param next is told what follows it: the next sheet, or nothing */
async function* sheetOf(
  parts: AsyncIterator<WorkbookPart>,
  first: string,
  next: (opens: string | null, rows: string) => void,
): AsyncGenerator<string> {
  yield first;
  for (let part = await parts.next(); ; part = await parts.next()) {
    if (part.done === true || part.value.opens !== null) {
      yield SHEET_END;
      if (part.done === true) next(null, '');
      else next(part.value.opens, part.value.rows);
      return;
    }
    yield part.value.rows;
  }
}

const PIECE_CHARACTERS = 64 * 1024;

async function* inPieces(texts: AsyncIterable<string>): AsyncGenerator<Buffer> {
  let collected = '';
  for await (const text of texts) {
    collected += text;
    if (collected.length < PIECE_CHARACTERS) continue;
    yield Buffer.from(collected);
    collected = '';
  }
  yield Buffer.from(collected);
}

/** The time of the entries is fixed, and in the local time that DOS has. */
const ENTRY = { mtime: new Date(2026, 0, 1), mode: 0o100_644, forceDosTimestamp: true } as const;
const CONTENT_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** Sheets are the default, so that this part can be the first one, before their number is known. */
const CONTENT_TYPES = `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="${CONTENT_TYPE}.worksheet+xml"/><Override PartName="/xl/workbook.xml" ContentType="${CONTENT_TYPE}.sheet.main+xml"/><Override PartName="/xl/styles.xml" ContentType="${CONTENT_TYPE}.styles+xml"/></Types>`;
const PACKAGE_RELATIONSHIPS = relationships([['officeDocument', 'xl/workbook.xml']]);

/** The formats of cells: all are text, so that no program makes a number, a date or a formula of one. */
const STYLES = `<styleSheet xmlns="${SPREADSHEET}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="3"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill><fill><patternFill patternType="solid"><fgColor rgb="FFE8ECF0"/></patternFill></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="5"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>${cellFormat({})}${cellFormat({ isWrapped: true })}${cellFormat({ isWrapped: true, isEditable: true })}${cellFormat({ isHead: true })}</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`;

function cellFormat({
  isWrapped = false,
  isEditable = false,
  isHead = false,
}: {
  readonly isWrapped?: boolean;
  readonly isEditable?: boolean;
  readonly isHead?: boolean;
}): string {
  const look = isHead ? 'fontId="1" fillId="2"' : 'fontId="0" fillId="0"';
  return `<xf numFmtId="49" ${look} borderId="0" xfId="0" applyNumberFormat="1" applyFont="1" applyFill="1" applyAlignment="1" applyProtection="1"><alignment vertical="top"${isWrapped ? ' wrapText="1"' : ''}/><protection locked="${isEditable ? 0 : 1}"/></xf>`;
}

function workbook(names: readonly string[]): string {
  const sheets = names.map((name, at) =>
    emptyElement('sheet', { name, sheetId: String(at + 1), 'r:id': `r${at + 1}` }),
  );
  return `${startTag('workbook', { xmlns: SPREADSHEET, 'xmlns:r': RELATIONSHIP })}<bookViews><workbookView/></bookViews><sheets>${sheets.join('')}</sheets></workbook>`;
}

function workbookRelationships(sheets: number): string {
  const targets = Array.from(
    { length: sheets },
    (_, at) => ['worksheet', `worksheets/sheet${at + 1}.xml`] as const,
  );
  return relationships([...targets, ['styles', 'styles.xml']]);
}

function relationships(targets: readonly (readonly [type: string, target: string])[]): string {
  const elements = targets.map(([type, target], at) =>
    emptyElement('Relationship', { Id: `r${at + 1}`, Type: `${RELATIONSHIP}/${type}`, Target: target }),
  );
  return `${startTag('Relationships', { xmlns: RELATIONSHIPS })}${elements.join('')}</Relationships>`;
}
