import { readBoundedFile } from '../../../platform/files/files.ts';
import { messageOf } from '../../../platform/errors.ts';
import { createRowScanner } from '../../../formats/csv/read-csv.ts';
import { FormatError } from '../../../formats/format-error.ts';
import type { Character } from './provider.ts';

/** The characters of a game by name. */
export type CharacterSheet = ReadonlyMap<string, Character>;

/** A character sheet cannot be used. The message names the row. */
class CharacterSheetError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CharacterSheetError';
  }
}

const MAX_BYTES = 1024 ** 2;
const MAX_CELLS = 32;
const MAX_CELL_CHARACTERS = 1_000;
/** The columns that are read; others are for people. */
const COLUMNS = ['name', 'gender', 'tone', 'first_person', 'address_forms', 'relations'] as const;

/**
 * Reads `characters.csv`: a header, then one character on each row. Only the column `name` must exist.
 *
 * @throws CharacterSheetError for a file that is missing, larger than 1 MiB or wrong
 */
export async function readCharacterSheet(path: string): Promise<CharacterSheet> {
  try {
    const bytes = await readBoundedFile(path, MAX_BYTES);
    return parseCharacterSheet(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    if (cause instanceof CharacterSheetError) {
      throw new CharacterSheetError(`${path}: ${cause.message}`, { cause });
    }
    throw new CharacterSheetError(`${path}: cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/** Parses the text of a character sheet. Throws CharacterSheetError. */
export function parseCharacterSheet(text: string): CharacterSheet {
  const nextRow = createRowScanner(text, ',', {
    maxCells: MAX_CELLS,
    fail: (message) => new FormatError('csv_invalid', message),
  });
  const characters = new Map<string, Character>();
  let columns: ReadonlyMap<string, number> | null = null;
  for (let number = 1, row = nextRow(); row !== null; number += 1, row = nextRow()) {
    const cells = row.cells.map(({ value }) => value.trim());
    if (row.flaw !== null) throw new CharacterSheetError(`row ${number}: ${row.flaw.message}`);
    if (cells.every((cell) => cell === '')) continue;
    if (columns === null) {
      columns = headerOf(cells);
      continue;
    }
    const character = characterOf(cells, columns, number);
    if (characters.has(character.name)) {
      throw new CharacterSheetError(`row ${number}: "${character.name}" already has a row`);
    }
    characters.set(character.name, character);
  }
  return characters;
}

/** The characters of a scene, in the order in which they first speak. Names without a row are left out. */
export function charactersOfScene(sheet: CharacterSheet, speakers: Iterable<string>): readonly Character[] {
  return [...new Set(speakers)].flatMap((name) => sheet.get(name.trim()) ?? []);
}

function headerOf(cells: readonly string[]): ReadonlyMap<string, number> {
  const columns = new Map(cells.map((cell, index) => [cell.toLowerCase(), index]));
  if (!columns.has('name')) {
    throw new CharacterSheetError(`row 1 has no column "name"; the columns are ${COLUMNS.join(', ')}`);
  }
  return columns;
}

function characterOf(
  cells: readonly string[],
  columns: ReadonlyMap<string, number>,
  number: number,
): Character {
  const [name = '', gender = '', tone = '', firstPerson = '', addressForms = '', relations = ''] =
    COLUMNS.map((column) => {
      const cell = cells[columns.get(column) ?? -1] ?? '';
      if (cell.length <= MAX_CELL_CHARACTERS) return cell;
      throw new CharacterSheetError(
        `row ${number}: ${column} has more than ${MAX_CELL_CHARACTERS} characters`,
      );
    });
  if (name === '') throw new CharacterSheetError(`row ${number} has no name`);
  return { name, gender, tone, firstPerson, addressForms, relations };
}
