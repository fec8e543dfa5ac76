import { FormatError } from '../../src/formats/format-error.ts';
import { bytesSource } from '../../src/formats/byte-source.ts';
import { openBundle } from '../../src/formats/unity/bundle.ts';
import { readObjectName } from '../../src/formats/unity/read-object-name.ts';
import { openSerializedFile, type SerializedFile } from '../../src/formats/unity/serialized-file.ts';
import { isSerializedFile } from '../../src/formats/unity/serialized-header.ts';
import type { TypeTreeOf } from '../../src/formats/unity/type-tree-file.ts';
import { visitObject } from '../../src/formats/unity/visit-object.ts';
import { READ_LIMITS, type ReadLimits, type ValueVisitor } from '../../src/formats/value-visitor.ts';

/** A text of an object, with its path of fields. */
export interface FoundText {
  readonly pathId: bigint;
  readonly name: string | null;
  readonly path: string;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** An integer of an object. */
export interface FoundInteger {
  readonly path: string;
  readonly value: number | bigint;
}

/** The texts, integers and errors of a bundle. */
export interface FoundTexts {
  readonly texts: FoundText[];
  readonly integers: FoundInteger[];
  /** Errors that cost one object or one file of the bundle. */
  readonly errors: FormatError[];
}

/** How a bundle is read. */
export interface UnityTextsOptions {
  readonly limits?: Partial<ReadLimits>;
  readonly typeTreeOf?: TypeTreeOf;
}

/** Reads all texts of a bundle. Errors other than {@link FormatError} pass through. */
export function textsOfBundle(bytes: Buffer, options: UnityTextsOptions = {}): FoundTexts {
  const limits = { ...READ_LIMITS, ...options.limits };
  const found: FoundTexts = { texts: [], integers: [], errors: [] };
  const bundle = openBundle(bytesSource(bytes), limits);
  for (const node of bundle.nodes) {
    const source = bundle.open(node);
    collectErrors(found, () => {
      if (isSerializedFile(source))
        collectTexts(openSerializedFile(source, { ...options, limits }), limits, found);
    });
  }
  return found;
}

/** Reads all texts of a serialized file. */
export function textsOfFile(bytes: Buffer, options: UnityTextsOptions = {}): FoundTexts {
  const limits = { ...READ_LIMITS, ...options.limits };
  const found: FoundTexts = { texts: [], integers: [], errors: [] };
  collectTexts(openSerializedFile(bytesSource(bytes), { ...options, limits }), limits, found);
  return found;
}

function collectTexts(file: SerializedFile, limits: ReadLimits, found: FoundTexts): void {
  for (const object of file.objects) {
    collectErrors(found, () => {
      const { name } = readObjectName(file, object);
      const texts: FoundText[] = [];
      const add = (path: string, text: string, start: number, end: number): void => {
        texts.push({ pathId: object.pathId, name, path, text, start, end });
      };
      const unread = visitObject(
        file,
        object,
        pathVisitor(add, (path, value) => found.integers.push({ path, value })),
        limits,
      );
      for (const each of texts) found.texts.push(each);
      if (unread !== null) found.errors.push(unread);
    });
  }
}

function collectErrors(found: FoundTexts, read: () => void): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    found.errors.push(error);
  }
}

interface Level {
  readonly path: string;
  /** `null` in an object. */
  index: number | null;
  field: string;
  /** The name of the next element. */
  element: string | null;
}

/** A visitor that builds paths such as `lines[0].text`. */
function pathVisitor(
  text: (path: string, value: string, start: number, end: number) => void,
  integer: (path: string, value: number | bigint) => void,
): ValueVisitor {
  const levels: Level[] = [];
  const next = (): string => {
    const level = levels.at(-1);
    if (level === undefined) return '';
    if (level.index !== null) {
      const { index, element } = level;
      level.index += 1;
      level.element = null;
      return `${level.path}[${element ?? index}]`;
    }
    return level.path === '' ? level.field : `${level.path}.${level.field}`;
  };
  const begin = (index: number | null) => (): void =>
    void levels.push({ path: next(), index, field: '', element: null });
  const end = (): void => void levels.pop();
  return {
    beginObject: begin(null),
    endObject: end,
    beginArray: begin(0),
    endArray: end,
    field: (name) => {
      const level = levels.at(-1);
      if (level !== undefined) level.field = name;
    },
    element: (name) => {
      const level = levels.at(-1);
      if (level !== undefined) level.element = name;
    },
    text: (value, start, stop) => text(next(), value, start, stop),
    integer: (value) => integer(next(), value),
    bytes: () => void next(),
    label: () => void next(),
    other: () => void next(),
  };
}
