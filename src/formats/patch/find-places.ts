import type { PathSyntax } from '../collect/path-syntax.ts';
import { type ValueVisitor, visitorOf } from '../value-visitor.ts';
import { PatchError } from './patch-error.ts';

export interface FieldEdit {
  /** The path that the reader of the format reports for the text. */
  readonly fieldPath: string;
  readonly source: string;
  readonly target: string;
}

/** A field whose value is a file of its own, which is patched in its place. */
export interface NestedEdit {
  readonly fieldPath: string;
  /** Patches the file. @param value bytes where the format stores bytes, or a string that is not valid UTF-8 */
  readonly patch: (value: string | Uint8Array, fieldName: string) => string | Uint8Array;
}

export type ValueEdit = FieldEdit | NestedEdit;

export interface EditPlace {
  readonly edit: ValueEdit;
  /** The position of the encoded form, as the reader reports it. */
  readonly start: number;
  readonly end: number;
  readonly source: string | Uint8Array;
  readonly target: string | Uint8Array;
}

/**
 * Finds the places of edits by reading the file with its reader. Paths are made as the parser makes them, so a place has the
 * path that the parser reports for it.
 *
 * @param read reads the file; it runs a second time only to explain why a place was not found
 * @throws PatchError `place_not_found`, `place_ambiguous`, `source_differs`, `character_not_allowed`, and what a nested
 *   patch throws
 */
export function findPlaces(
  edits: readonly ValueEdit[],
  syntax: PathSyntax,
  read: (visitor: ValueVisitor) => void,
): readonly EditPlace[] {
  const wanted = wantedPlaces(edits);
  // Edits that come in the order of the file are found without it.
  let byPath: ReadonlyMap<string, WantedPlace> | null = null;
  const findByPath = (path: string): WantedPlace | undefined => {
    byPath ??= placesByPath(wanted);
    return byPath.get(path);
  };
  const mayBeSource = sourceFilter(edits);
  const places: WantedPlace[] = [];
  let next = 0;
  const take: ReportValue = (value, start, end, path, fieldName) => {
    let place = wanted[next];
    if (place !== undefined && matches(place, value) && place.edit.fieldPath === path()) next += 1;
    else place = mayBeSource(value) ? findByPath(path()) : undefined;
    if (place === undefined || !matches(place, value)) return;
    if (place.end >= 0) {
      throw new PatchError(
        'place_ambiguous',
        place.edit.fieldPath,
        'several texts of the file have this path',
      );
    }
    place.start = start;
    place.end = end;
    place.source = value;
    place.fieldName = fieldName ?? '';
    places.push(place);
  };
  read(new PathVisitor(syntax, take));
  if (places.length < edits.length) {
    placesByPath(wanted);
    throw missingPlace(wanted, syntax, read);
  }
  for (const place of places) if (isNested(place.edit)) place.target = patchNested(place.edit, place);
  return places;
}

interface WantedPlace extends EditPlace {
  start: number;
  end: number;
  source: string | Uint8Array;
  target: string | Uint8Array;
  fieldName: string;
}

function patchNested({ patch }: NestedEdit, { source, fieldName }: WantedPlace): string | Uint8Array {
  const target = patch(source, fieldName);
  if (typeof target !== typeof source) throw new TypeError('a nested patch must keep the form of its value');
  return target;
}

/** Whether an edit patches a file inside of a field. */
export function isNested(edit: ValueEdit): edit is NestedEdit {
  return 'patch' in edit;
}

function wantedPlaces(edits: readonly ValueEdit[]): readonly WantedPlace[] {
  return edits.map((edit) => {
    if (isNested(edit)) return { edit, start: -1, end: -1, source: '', target: '', fieldName: '' };
    checkTarget(edit);
    return { edit, start: -1, end: -1, source: edit.source, target: edit.target, fieldName: '' };
  });
}

function placesByPath(wanted: readonly WantedPlace[]): ReadonlyMap<string, WantedPlace> {
  const byPath = new Map<string, WantedPlace>();
  for (const place of wanted) {
    const { fieldPath } = place.edit;
    if (byPath.has(fieldPath)) throw new PatchError('place_ambiguous', fieldPath, 'two edits have this path');
    byPath.set(fieldPath, place);
  }
  return byPath;
}

function matches({ edit }: WantedPlace, value: string | Uint8Array): boolean {
  return isNested(edit) || edit.source === value;
}

/** Tells most values that no edit has as its source, so that their paths need not be made. */
function sourceFilter(edits: readonly ValueEdit[]): (value: string | Uint8Array) => boolean {
  if (edits.some(isNested)) return () => true;
  const marks = new Set(edits.map((edit) => (isNested(edit) ? 0 : markOf(edit.source))));
  return (value) => typeof value === 'string' && marks.has(markOf(value));
}

/** A number that differs for most texts: of the length, the first and the last character. */
function markOf(text: string): number {
  if (text === '') return 0;
  return text.length * 2 ** 32 + text.charCodeAt(0) * 2 ** 16 + text.charCodeAt(text.length - 1);
}

/** Half a surrogate pair has no form in any encoding, and an encoder would replace it silently. */
function checkTarget({ fieldPath, target }: FieldEdit): void {
  if (target.isWellFormed()) return;
  throw new PatchError('character_not_allowed', fieldPath, 'the target text has half a surrogate pair');
}

function missingPlace(
  wanted: readonly WantedPlace[],
  syntax: PathSyntax,
  read: (visitor: ValueVisitor) => void,
): PatchError {
  const missing = wanted.find(({ end }) => end < 0)?.edit.fieldPath ?? '';
  let isThere = false;
  const look: ReportValue = (_value, _start, _end, path) => {
    isThere ||= path() === missing;
  };
  read(new PathVisitor(syntax, look));
  return isThere
    ? new PatchError('source_differs', missing, 'the text in the file is not the source text of the edit')
    : new PatchError('place_not_found', missing, 'the file has no text at this path');
}

/**
 * Receives a string or bytes.
 *
 * @param path makes the path of the value, as the text collector reports it; it can be called until this function returns
 * @param fieldName the name of its field; `null` for an element of an array
 */
type ReportValue = (
  value: string | Uint8Array,
  start: number,
  end: number,
  path: () => string,
  fieldName: string | null,
) => void;

interface Level {
  isArray: boolean;
  count: number;
  /** Made for the first value that is reported below it; `null` before. */
  path: string | null;
  /** The field or the element of the parent that leads here. */
  name: string | null;
  index: number;
  elementName: string | null;
}

/**
 * Reports strings and bytes with their paths while a file is read, and keeps none of them. The text collector holds them until the end
 * instead, because row keys are known only then; both make the same paths.
 */
export class PathVisitor implements ValueVisitor {
  readonly #syntax: PathSyntax;
  readonly #report: ReportValue;
  /** Levels are used again, so that a file of many rows makes no garbage for each. */
  readonly #levels: Level[] = [newLevel()];
  #depth = 0;
  #field: string | null = null;
  #elementName: string | null = null;

  constructor(syntax: PathSyntax, report: ReportValue) {
    this.#syntax = syntax;
    this.#report = report;
  }

  beginObject(): void {
    this.#enter(false);
  }

  endObject(): void {
    this.#leave();
  }

  beginArray(): void {
    this.#enter(true);
  }

  endArray(): void {
    this.#leave();
  }

  field(name: string): void {
    this.#field = name;
  }

  element(name: string): void {
    this.#elementName = name;
  }

  text(value: string, start: number, end: number): void {
    this.#report(value, start, end, this.#path, this.#field);
    this.#step();
  }

  bytes(value: Uint8Array, start: number, end: number): void {
    this.#report(value, start, end, this.#path, this.#field);
    this.#step();
  }

  integer(): void {
    this.#step();
  }

  label(): void {
    this.#step();
  }

  other(): void {
    this.#step();
  }

  #enter(isArray: boolean): void {
    const parent = this.#level(this.#depth);
    const level = this.#level(this.#depth + 1);
    level.isArray = isArray;
    level.count = 0;
    level.path = null;
    level.name = this.#field;
    level.index = parent.count;
    level.elementName = this.#elementName;
    this.#step();
    this.#depth += 1;
  }

  #leave(): void {
    if (this.#depth > 0) this.#depth -= 1;
  }

  /** Counts a value. The next one has another name. */
  #step(): void {
    this.#level(this.#depth).count += 1;
    this.#field = null;
    this.#elementName = null;
  }

  #level(depth: number): Level {
    const known = this.#levels[depth];
    if (known !== undefined) return known;
    const level = newLevel();
    this.#levels.push(level);
    return level;
  }

  readonly #path = (): string => {
    const { count } = this.#level(this.#depth);
    return this.#childPath(this.#depth, this.#field, count, this.#elementName);
  };

  #pathOf(depth: number): string {
    if (depth === 0) return '';
    const level = this.#level(depth);
    level.path ??= this.#childPath(depth - 1, level.name, level.index, level.elementName);
    return level.path;
  }

  #childPath(depth: number, name: string | null, index: number, elementName: string | null): string {
    const path = this.#pathOf(depth);
    if (this.#level(depth).isArray) return this.#syntax.element(path, elementName ?? index);
    return name === null ? path : this.#syntax.field(path, name);
  }
}

function newLevel(): Level {
  return { isArray: false, count: 0, path: null, name: null, index: 0, elementName: null };
}

interface TextPlace {
  readonly start: number;
  readonly end: number;
}

/** Notes the places of all texts and bytes of a file, in their order, without their paths and values. */
export function textPlaces(read: (visitor: ValueVisitor) => void): readonly TextPlace[] {
  const places: TextPlace[] = [];
  const note = (_value: unknown, start: number, end: number): void => {
    places.push({ start, end });
  };
  read(visitorOf({ text: note, bytes: note }));
  return places;
}
