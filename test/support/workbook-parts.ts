import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';
import { writeZip } from '../../demo/game/demo-zip.ts';

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** The parts of a workbook that differ from test to test. */
export interface WorkbookParts {
  /** The rows of each sheet. */
  readonly sheets: readonly string[];
  readonly texts?: string;
  readonly styles?: string;
  readonly properties?: string;
  /** More relationships of the workbook. */
  readonly related?: string;
  readonly others?: Readonly<Record<string, string>>;
}

/** A relationship of the workbook. */
export function relationship(id: string, type: string, target: string): string {
  return `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;
}

/** The parts of a workbook as a spreadsheet writes them. */
export function workbookParts({
  sheets,
  texts = '',
  styles = '',
  properties = '',
  related = '',
  others = {},
}: WorkbookParts): Record<string, string> {
  const ids = sheets.map((_, at) => `s${at + 1}`);
  const links = ids.map((id, at) => relationship(id, 'worksheet', `worksheets/sheet${at + 1}.xml`));
  const listed = ids.map((id, at) => `<sheet name="Sheet ${at + 1}" sheetId="${at + 1}" r:id="${id}"/>`);
  const parts: Record<string, string> = {
    '_rels/.rels': `<Relationships>${relationship('a', 'officeDocument', '/xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}">${properties}<sheets>${listed.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${links.join('')}${relationship('t', 'sharedStrings', 'sharedStrings.xml')}${relationship('f', 'styles', 'styles.xml')}${related}</Relationships>`,
    'xl/sharedStrings.xml': `<sst xmlns="${MAIN}">${texts}</sst>`,
    'xl/styles.xml': `<styleSheet xmlns="${MAIN}">${styles}</styleSheet>`,
    ...others,
  };
  for (const [at, rows] of sheets.entries()) {
    parts[`xl/worksheets/sheet${at + 1}.xml`] =
      `<worksheet xmlns="${MAIN}"><sheetData>${rows}</sheetData></worksheet>`;
  }
  return parts;
}

/** The file of a workbook. */
export async function packedWorkbook(parts: Readonly<Record<string, string>>): Promise<Buffer> {
  return await writeZip(Object.entries(parts).map(([name, text]) => ({ name, bytes: Buffer.from(text) })));
}

/** The file of a workbook whose parts are not compressed, as `zip -0` packs them. */
export async function storedWorkbook(parts: Readonly<Record<string, string>>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, text] of Object.entries(parts)) {
    zip.addBuffer(Buffer.from(text), name, { compress: false });
  }
  zip.end();
  return await buffer(zip.outputStream);
}
