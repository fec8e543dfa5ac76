import type { ValueVisitor } from '../value-visitor.ts';
import type { PathSyntax } from './path-syntax.ts';

/**
 * Receives a string or bytes.
 *
 * @param path makes the path of the value, as the text collector reports it; it can be called until this function returns
 * @param fieldName the name of its field; `null` for an element of an array
 */
export type ReportValue = (
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
