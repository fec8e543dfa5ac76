import type { ValueVisitor } from '../value-visitor.ts';
import type { PathSyntax } from './path-syntax.ts';

export interface CollectorOptions {
  readonly syntax: PathSyntax;
  /** Each is one field, or several fields that identify a row together. See {@link chooseRowKey}. */
  readonly rowKeys: readonly (readonly string[])[];
  readonly speakerFields: ReadonlySet<string>;
  readonly sceneFields: ReadonlySet<string>;
  /** Fields whose values decide which texts count; see {@link CollectedText.siblingOf}. */
  readonly siblingFields?: ReadonlySet<string>;
  /** Whether a string can be a text unit by its characters alone; the others are counted and dropped. */
  readonly isCandidate: (text: string) => boolean;
  /** Whether the value of a field is kept although it is not a candidate, because a file can be inside it. */
  readonly mayNest: (fieldName: string) => boolean;
}

export interface CollectedText {
  /** The exact path in this file. */
  readonly fieldPath: string;
  /** The path with row keys in place of indexes, as far as rows have keys. */
  readonly keyPath: string;
  /** The name of its field; empty for an element of an array. */
  readonly fieldName: string;
  readonly value: string | Uint8Array;
  /** Position of its encoded form, as {@link ValueVisitor.text} says. */
  readonly start: number;
  readonly end: number;
  readonly speaker: string | null;
  readonly scene: string | null;
  /** The value of a field of the object around it, or of one around that, for the `siblingFields` of the collector. */
  readonly siblingOf: (field: string) => string | null;
}

export interface Collected {
  readonly texts: readonly CollectedText[];
  /** Strings that are not candidates. */
  readonly dropped: number;
  /** Texts that are not among those that the format of the file selects. */
  readonly unselected?: number;
  /** Texts that are left out because their paths have more than {@link MAX_PATH} characters. */
  readonly overlong: number;
}

/** UTF-16 code units of a path. One name can be in the paths of a million texts, so a long one would multiply. */
export const MAX_PATH = 16 * 1024;

interface Step {
  /** The field that leads here; `null` for an element. */
  readonly name: string | null;
  readonly index: number;
  readonly elementName: string | null;
}

interface Place extends Step {
  readonly parent: Place | null;
  readonly isArray: boolean;
  /** Arrays: the number of elements so far, of objects among them, and the values of key fields by element. */
  count: number;
  rows: number;
  columns: Map<string, (string | undefined)[]> | null;
  rowKey: readonly string[] | null;
  speaker: string | null;
  scene: string | null;
  siblings: Map<string, string> | null;
  path: string | null;
  keyPath: string | null;
}

interface Pending {
  readonly place: Place;
  readonly name: string | null;
  readonly index: number;
  readonly elementName: string | null;
  readonly value: string | Uint8Array;
  readonly start: number;
  readonly end: number;
}

/**
 * Collects the strings of one file, object or table from the events of a reader. Row keys and context are known only at
 * the end, so everything is held until {@link TextCollector.finish}.
 */
export class TextCollector implements ValueVisitor {
  readonly #options: CollectorOptions;
  readonly #keyFields: ReadonlySet<string>;
  readonly #siblings: ReadonlySet<string>;
  readonly #pending: Pending[] = [];
  #place: Place;
  #field: string | null = null;
  #elementName: string | null = null;
  #dropped = 0;

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.#keyFields = new Set(options.rowKeys.flat());
    this.#siblings = options.siblingFields ?? new Set();
    this.#place = createPlace(null, false, null, 0, null);
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
    const array = this.#place;
    if (array.columns !== null) array.rowKey = chooseRowKey(array, this.#options.rowKeys);
    this.#leave();
  }

  field(name: string): void {
    this.#field = name;
  }

  element(name: string): void {
    this.#elementName = name;
  }

  text(value: string, start: number, end: number): void {
    const name = this.#field;
    if (name !== null) this.#noteField(name, value);
    if (this.#options.isCandidate(value) || (name !== null && this.#options.mayNest(name))) {
      this.#hold(value, start, end);
    } else {
      this.#dropped += 1;
      this.#step();
    }
  }

  bytes(value: Uint8Array, start: number, end: number): void {
    if (this.#field !== null && this.#options.mayNest(this.#field)) this.#hold(value, start, end);
    else this.#step();
  }

  integer(value: number | bigint): void {
    const name = this.#field;
    if (name !== null && this.#keyFields.has(name)) this.#noteKey(name, String(value));
    if (name !== null && this.#siblings.has(name)) this.#noteSibling(name, String(value));
    this.#step();
  }

  label(value: string): void {
    if (this.#field !== null) this.#noteField(this.#field, value);
    this.#step();
  }

  other(): void {
    this.#step();
  }

  finish(): Collected {
    const { syntax } = this.#options;
    const texts: CollectedText[] = [];
    for (const { place, name, index, elementName, value, start, end } of this.#pending) {
      const step = { name, index, elementName };
      const fieldPath = childPath(syntax, place, pathOf(place, syntax), step);
      const keyPath = childPath(syntax, place, keyPathOf(place, syntax), step);
      // Texts share the memory of the names on their paths until a path is looked into, so a long one is left out before.
      if (Math.max(fieldPath.length, keyPath.length) > MAX_PATH) continue;
      texts.push({
        fieldPath,
        keyPath,
        fieldName: name ?? '',
        value,
        start,
        end,
        speaker: nearest(place, 'speaker'),
        scene: nearest(place, 'scene'),
        siblingOf: this.#siblings.size === 0 ? noSibling : (field) => siblingOf(place, field),
      });
    }
    return { texts, dropped: this.#dropped, overlong: this.#pending.length - texts.length };
  }

  #enter(isArray: boolean): void {
    const parent = this.#place;
    const name = parent.isArray ? null : this.#field;
    const place = createPlace(parent, isArray, name, parent.count, this.#elementName);
    if (!isArray) parent.rows += 1;
    this.#step();
    this.#place = place;
  }

  #leave(): void {
    if (this.#place.parent !== null) this.#place = this.#place.parent;
  }

  #hold(value: string | Uint8Array, start: number, end: number): void {
    const place = this.#place;
    const name = place.isArray ? null : this.#field;
    this.#pending.push({
      place,
      name,
      index: place.count,
      elementName: this.#elementName,
      value,
      start,
      end,
    });
    this.#step();
  }

  #step(): void {
    if (this.#place.isArray) this.#place.count += 1;
    this.#field = null;
    this.#elementName = null;
  }

  #noteField(name: string, value: string): void {
    if (this.#keyFields.has(name)) this.#noteKey(name, value);
    if (this.#options.speakerFields.has(name)) this.#place.speaker = value;
    if (this.#options.sceneFields.has(name)) this.#place.scene = value;
    if (this.#siblings.has(name)) this.#noteSibling(name, value);
  }

  #noteSibling(name: string, value: string): void {
    this.#place.siblings ??= new Map();
    this.#place.siblings.set(name, value);
  }

  #noteKey(name: string, value: string): void {
    const { parent, index } = this.#place;
    if (parent?.isArray !== true) return;
    parent.columns ??= new Map();
    let column = parent.columns.get(name);
    if (column === undefined) {
      column = [];
      parent.columns.set(name, column);
    }
    column[index] = value;
  }
}

function createPlace(
  parent: Place | null,
  isArray: boolean,
  name: string | null,
  index: number,
  elementName: string | null,
): Place {
  return {
    parent,
    isArray,
    name,
    index,
    elementName,
    count: 0,
    rows: 0,
    columns: null,
    rowKey: null,
    speaker: null,
    scene: null,
    siblings: null,
    path: null,
    keyPath: null,
  };
}

/**
 * The first key that tells most objects of an array from all others; `null` when there is none. So a row without its key,
 * with that of another row, or that cannot be read at all changes nothing for the other rows.
 */
function chooseRowKey(
  { columns, count, rows }: Place,
  candidates: readonly (readonly string[])[],
): readonly string[] | null {
  for (const names of candidates) {
    const values = new Set<string>();
    const shared = new Set<string>();
    for (let index = 0; index < count; index += 1) {
      const value = rowKeyText(columns, names, index);
      if (value === null) continue;
      if (values.has(value)) shared.add(value);
      else values.add(value);
    }
    if ((values.size - shared.size) * 2 > rows) return names;
  }
  return null;
}

/** The key of one row, `Id=3` or `Group="a b"+Line=2`; `null` if the row lacks one of the fields. */
function rowKeyText(columns: Place['columns'], names: readonly string[], index: number): string | null {
  let text = '';
  for (const name of names) {
    const value = columns?.get(name)?.[index];
    if (value === undefined) return null;
    const quoted = /^[\w-]+$/.test(value) ? value : JSON.stringify(value);
    text += `${text === '' ? '' : '+'}${name}=${quoted}`;
  }
  return text;
}

function pathOf(place: Place, syntax: PathSyntax): string {
  if (place.parent === null) return '';
  place.path ??= childPath(syntax, place.parent, pathOf(place.parent, syntax), place);
  return place.path;
}

function keyPathOf(place: Place, syntax: PathSyntax): string {
  if (place.parent === null) return '';
  place.keyPath ??= childPath(syntax, place.parent, keyPathOf(place.parent, syntax), place, rowKeyOf(place));
  return place.keyPath;
}

/** The key of the row that a place is; `null` if it is not a row or its array has no key. */
function rowKeyOf({ parent, index }: Place): string | null {
  if (parent === null || parent.rowKey === null) return null;
  return rowKeyText(parent.columns, parent.rowKey, index);
}

function childPath(
  syntax: PathSyntax,
  { isArray }: Place,
  path: string,
  { name, index, elementName }: Step,
  rowKey: string | null = null,
): string {
  if (isArray) return syntax.element(path, rowKey ?? elementName ?? index);
  return name === null ? path : syntax.field(path, name);
}

const noSibling = (): null => null;

function siblingOf(place: Place, field: string): string | null {
  for (let at: Place | null = place; at !== null; at = at.parent) {
    const value = at.siblings?.get(field);
    if (value !== undefined) return value;
  }
  return null;
}

function nearest(place: Place, what: 'speaker' | 'scene'): string | null {
  for (let at: Place | null = place; at !== null; at = at.parent) if (at[what] !== null) return at[what];
  return null;
}
