import { FormatError } from '../format-error.ts';
import {
  compileRegistry,
  NO_REGISTRY,
  REFERENCE_ID_BYTES,
  REFERENCE_LEAVES,
  REGISTRY_TYPE,
} from './managed-references.ts';
import {
  type CompiledType,
  type FixedLayout,
  int32Reader,
  LENGTH_BYTES,
  type ObjectCursor,
  type ReadLength,
  type Step,
  takeCount,
  takeText,
} from './object-cursor.ts';
import type { TypeTree } from './type-tree.ts';

/**
 * Compiles a type tree for one byte order.
 *
 * @param of what the tree describes: an object of a file, or the object behind a managed reference
 * @throws FormatError `typetree_invalid` where the tree has an array without elements
 */
export function compileTypeTree(
  tree: TypeTree,
  littleEndian: boolean,
  of: 'object' | 'reference' = 'object',
): CompiledType {
  const int32 = int32Reader(littleEndian);
  const compile = (node: TypeTree): CompiledType => {
    const [first] = node.children;
    if (node.type === 'string') return compileText(int32);
    if (node.type === 'TypelessData') return withAlignment(compileBytes(int32), node.aligned);
    if (node.type === REGISTRY_TYPE) {
      if (of === 'reference') return NO_REGISTRY;
      const isLast = node === tree.children.at(-1);
      return withAlignment(compileRegistry(littleEndian, isLast), node.aligned);
    }
    if (first === undefined) return withAlignment(compileLeaf(node, littleEndian), node.aligned);
    if (node.type === 'Array') return withAlignment(compileArray(node, int32, compile), node.aligned);
    if (first.type === 'Array' && node.children.length === 1) {
      return withAlignment(compile(first), node.aligned);
    }
    return withAlignment(compileStruct(node, compile), node.aligned);
  };
  return compile(tree);
}

function withAlignment(type: CompiledType, isAligned: boolean): CompiledType {
  if (!isAligned) return type;
  const { visit, skip, layout } = type;
  return {
    ...type,
    visit: (cursor) => {
      visit(cursor);
      cursor.align();
    },
    skip: (cursor) => {
      skip(cursor);
      cursor.align();
    },
    layout: layout === null ? null : { size: (layout.size + 3) & ~3, aligned: true },
  };
}

function compileText(int32: ReadLength): CompiledType {
  return {
    visit: (cursor) => {
      const start = cursor.position;
      const end = takeText(cursor, int32);
      const from = start + LENGTH_BYTES;
      if (end - from > cursor.limits.stringBytes) {
        throw cursor.fail('field_too_large', `a string has ${end - from} bytes`, start);
      }
      cursor.visitor.text(decodeText(cursor.bytes, from, end), start, cursor.position);
    },
    skip: (cursor) => {
      takeText(cursor, int32);
    },
    hasText: true,
    isVisible: true,
    layout: null,
    smallest: LENGTH_BYTES,
  };
}

function decodeText(bytes: Buffer, from: number, end: number): string {
  return from === end ? '' : bytes.toString('utf8', from, end);
}

function invisible(skip: Step, layout: FixedLayout | null, smallest: number): CompiledType {
  return { visit: skip, skip, hasText: false, isVisible: false, layout, smallest };
}

function compileBytes(int32: ReadLength): CompiledType {
  return invisible(
    (cursor) => {
      cursor.take(takeCount(cursor, int32, 1));
    },
    null,
    LENGTH_BYTES,
  );
}

function compileLeaf(node: TypeTree, littleEndian: boolean): CompiledType {
  const size = sizeOfLeaf(node);
  const skip: Step = (cursor) => {
    cursor.take(size);
  };
  const read = integerReader(node.type, littleEndian);
  const type = invisible(skip, { size, aligned: false }, size);
  if (read === null) return type;
  return {
    ...type,
    visit: (cursor) => {
      cursor.visitor.integer(read(cursor));
    },
    isVisible: true,
  };
}

function compileStruct(node: TypeTree, compile: (child: TypeTree) => CompiledType): CompiledType {
  const fields = node.children.map((child) => ({ name: child.name, type: compile(child) }));
  const types = fields.map(({ type }) => type);
  const skips = types.filter(({ layout }) => layout?.size !== 0).map(({ skip }) => skip);
  const visits = fields
    .filter(({ type }) => type.layout?.size !== 0)
    .map(({ name, type }): Step => {
      const { visit, skip, isVisible } = type;
      if (!isVisible) return skip;
      return (cursor) => {
        cursor.visitor.field(name);
        visit(cursor);
      };
    });
  const layout = layoutOfStruct(types);
  const skipFixed: Step | null =
    layout === null || layout.aligned ? null : (cursor) => void cursor.take(layout.size);
  return {
    visit: (cursor) => {
      cursor.visitor.beginObject();
      for (const visit of visits) visit(cursor);
      cursor.visitor.endObject();
    },
    skip:
      skipFixed ??
      ((cursor) => {
        for (const skip of skips) skip(cursor);
      }),
    hasText: types.some(({ hasText }) => hasText),
    isVisible: types.some(({ isVisible }) => isVisible),
    layout,
    smallest: types.reduce((sum, { smallest }) => sum + smallest, 0),
  };
}

function layoutOfStruct(types: readonly CompiledType[]): FixedLayout | null {
  let size = 0;
  let aligned = false;
  for (const { layout } of types) {
    if (layout === null) return null;
    // The padding of a nested value depends on where that value begins.
    if (layout.aligned && size % 4 !== 0) return null;
    size += layout.size;
    aligned ||= layout.aligned;
  }
  return { size, aligned };
}

function compileArray(
  node: TypeTree,
  int32: ReadLength,
  compile: (child: TypeTree) => CompiledType,
): CompiledType {
  const [, element] = node.children;
  if (element === undefined) {
    throw new FormatError('typetree_invalid', `the array ${JSON.stringify(node.name)} has no elements`);
  }
  const { visit, skip, hasText, layout, smallest } = compile(element);
  const skipAll: Step = (cursor) => {
    const count = takeCount(cursor, int32, smallest);
    if (layout !== null && isRegular(layout, cursor.position)) {
      cursor.take(layout.size * count);
      return;
    }
    // Values without bytes can be claimed in any number.
    if (layout?.size === 0) return;
    for (let index = 0; index < count; index += 1) skip(cursor);
  };
  if (!hasText) return invisible(skipAll, null, LENGTH_BYTES);
  return {
    visit: (cursor) => {
      const start = cursor.position;
      const count = takeCount(cursor, int32, smallest);
      if (count > cursor.limits.elements) {
        throw cursor.fail('container_limit_exceeded', `an array has ${count} elements`, start);
      }
      cursor.visitor.beginArray();
      for (let index = 0; index < count; index += 1) visit(cursor);
      cursor.visitor.endArray();
    },
    skip: skipAll,
    hasText,
    isVisible: true,
    layout: null,
    smallest: LENGTH_BYTES,
  };
}

/** Whether elements from this position on have no other bytes between them. */
function isRegular({ size, aligned }: FixedLayout, position: number): boolean {
  return !aligned || (size % 4 === 0 && position % 4 === 0);
}

type ReadInteger = (cursor: ObjectCursor) => number | bigint;

const INTEGERS = {
  SInt8: 'int8',
  UInt8: 'uint8',
  char: 'uint8',
  short: 'int16',
  SInt16: 'int16',
  'unsigned short': 'uint16',
  UInt16: 'uint16',
  int: 'int32',
  SInt32: 'int32',
  'unsigned int': 'uint32',
  UInt32: 'uint32',
  'Type*': 'uint32',
  'long long': 'int64',
  SInt64: 'int64',
  'unsigned long long': 'uint64',
  UInt64: 'uint64',
  FileSize: 'uint64',
} as const;

const SIZES = { int8: 1, uint8: 1, int16: 2, uint16: 2, int32: 4, uint32: 4, int64: 8, uint64: 8 } as const;
const OTHER_SIZES: ReadonlyMap<string, number> = new Map([
  ['bool', 1],
  ['float', 4],
  ['double', 8],
  ...REFERENCE_LEAVES.map((type) => [type, REFERENCE_ID_BYTES] as const),
]);

/** The bytes of a type without fields: of a known one by its name, else as the type tree says. */
function sizeOfLeaf({ type, byteSize }: TypeTree): number {
  const kind = kindOf(type);
  return kind === null ? (OTHER_SIZES.get(type) ?? Math.max(0, byteSize)) : SIZES[kind];
}

/** @returns `null` for other types than integers */
function integerReader(type: string, littleEndian: boolean): ReadInteger | null {
  const kind = kindOf(type);
  return kind === null ? null : READERS[kind](littleEndian);
}

type Kind = keyof typeof SIZES;

function kindOf(type: string): Kind | null {
  return Object.hasOwn(INTEGERS, type) ? INTEGERS[type as keyof typeof INTEGERS] : null;
}

const READERS: Readonly<Record<Kind, (littleEndian: boolean) => ReadInteger>> = {
  int8: () => (cursor) => cursor.bytes.readInt8(cursor.take(1)),
  uint8: () => (cursor) => cursor.bytes.readUInt8(cursor.take(1)),
  int16: (little) =>
    little
      ? (cursor) => cursor.bytes.readInt16LE(cursor.take(2))
      : (cursor) => cursor.bytes.readInt16BE(cursor.take(2)),
  uint16: (little) =>
    little
      ? (cursor) => cursor.bytes.readUInt16LE(cursor.take(2))
      : (cursor) => cursor.bytes.readUInt16BE(cursor.take(2)),
  int32: int32Reader,
  uint32: (little) =>
    little
      ? (cursor) => cursor.bytes.readUInt32LE(cursor.take(4))
      : (cursor) => cursor.bytes.readUInt32BE(cursor.take(4)),
  int64: (little) => (cursor) => {
    const at = cursor.take(8);
    const { bytes } = cursor;
    const high = little ? bytes.readInt32LE(at + 4) : bytes.readInt32BE(at);
    const value = high * 2 ** 32 + (little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at + 4));
    if (Number.isSafeInteger(value)) return value;
    return little ? bytes.readBigInt64LE(at) : bytes.readBigInt64BE(at);
  },
  uint64: (little) => (cursor) => {
    const at = cursor.take(8);
    const { bytes } = cursor;
    const high = little ? bytes.readUInt32LE(at + 4) : bytes.readUInt32BE(at);
    const value = high * 2 ** 32 + (little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at + 4));
    if (Number.isSafeInteger(value)) return value;
    return little ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at);
  },
};
