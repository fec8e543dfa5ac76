import type { ByteSource } from '../byte-source.ts';
import { FormatError } from '../format-error.ts';
import type { ReadLimits } from '../value-visitor.ts';
import { MetadataCursor } from './metadata-cursor.ts';
import { LARGE_SINCE, readSerializedHeader, type SerializedHeader } from './serialized-header.ts';
import {
  hasExtractedTrees,
  readTypes,
  REFERENCE_TYPES_SINCE,
  type SerializedType,
} from './serialized-types.ts';
import type { TypeTreeOf } from './type-tree-file.ts';

export interface SerializedObject {
  readonly pathId: bigint;
  readonly type: SerializedType;
  readonly offset: number;
  readonly size: number;
  /** Position of its entry in the object table: the path id, then offset and size. A writer changes these two. */
  readonly entryOffset: number;
}

export interface SerializedFile {
  readonly source: ByteSource;
  readonly header: SerializedHeader;
  readonly engineVersion: string;
  readonly types: readonly SerializedType[];
  /** The types that only managed references have. */
  readonly referenceTypes: readonly SerializedType[];
  readonly objects: readonly SerializedObject[];
  /** Paths of other files; `m_FileID` 1 of a reference is the first of them. */
  readonly externals: readonly string[];
  readonly typeTreeOf: TypeTreeOf;
}

export interface SerializedFileOptions {
  readonly limits: ReadLimits;
  readonly typeTreeOf?: TypeTreeOf;
}

const GUID_BYTES = 16;
const EXTRACTED_TREES_VERSION = 23;
const SMALLEST_EXTERNAL = 1 + GUID_BYTES + 4 + 1;
const SCRIPT_BYTES = 12;

/**
 * Opens a serialized file of version 17 to 22. Only its metadata is read.
 *
 * @throws FormatError `serialized_version_unsupported`, `serialized_invalid`, `typetree_invalid`,
 *   `typetree_extracted_unsupported` or `container_limit_exceeded`
 */
export function openSerializedFile(source: ByteSource, options: SerializedFileOptions): SerializedFile {
  const header = readSerializedHeader(source);
  const cursor = new MetadataCursor(
    source.read(header.headerBytes, header.metadataBytes),
    'serialized_invalid',
    header.headerBytes,
  );
  cursor.littleEndian = header.littleEndian;
  const { limits } = options;
  const engineVersion = cursor.terminatedString();
  cursor.int32(); // The platform.
  const hasTrees = cursor.uint8() !== 0;
  if (header.version >= EXTRACTED_TREES_VERSION) throw unsupported(header.version, cursor, hasTrees);
  const table = { version: header.version, hasTrees, limits };
  const types = readTypes(cursor, table, false);
  const objects = readObjects(cursor, header, types, limits);
  const scripts = cursor.count(SCRIPT_BYTES, limits.elements);
  for (let index = 0; index < scripts; index += 1) {
    cursor.int32();
    alignInFile(cursor);
    cursor.int64();
  }
  const externals = readExternals(cursor, limits);
  const referenceTypes = header.version >= REFERENCE_TYPES_SINCE ? readTypes(cursor, table, true) : [];
  return {
    source,
    header,
    engineVersion,
    types,
    referenceTypes,
    objects,
    externals,
    typeTreeOf: options.typeTreeOf ?? (() => null),
  };
}

function unsupported(version: number, cursor: MetadataCursor, hasTrees: boolean): FormatError {
  if (version === EXTRACTED_TREES_VERSION && hasTrees && hasExtractedTrees(cursor)) {
    return new FormatError('typetree_extracted_unsupported', 'the type trees are in another file');
  }
  return new FormatError('serialized_version_unsupported', `version ${version} is not supported`, 8);
}

function readObjects(
  cursor: MetadataCursor,
  header: SerializedHeader,
  types: readonly SerializedType[],
  limits: SerializedFileOptions['limits'],
): SerializedObject[] {
  const isLarge = header.version >= LARGE_SINCE;
  const count = cursor.count(isLarge ? 24 : 20, limits.elements);
  const objects: SerializedObject[] = [];
  let total = 0;
  for (let index = 0; index < count; index += 1) {
    alignInFile(cursor);
    const at = cursor.position;
    const entryOffset = cursor.filePosition;
    const pathId = cursor.int64();
    const offset = header.dataOffset + (isLarge ? cursor.size64() : cursor.uint32());
    const size = cursor.uint32();
    const typeIndex = cursor.int32();
    const type = types[typeIndex];
    if (type === undefined) throw cursor.fail(`object ${pathId} has the missing type ${typeIndex}`, at);
    total += size;
    // Objects never overlap, so all of them together are not larger than the file.
    if (offset + size > header.fileSize || total > header.fileSize) {
      throw cursor.fail(`object ${pathId} does not fit into the file`, at);
    }
    objects.push({ pathId, type, offset, size, entryOffset });
  }
  return objects;
}

function readExternals(cursor: MetadataCursor, limits: SerializedFileOptions['limits']): string[] {
  const count = cursor.count(SMALLEST_EXTERNAL, limits.elements);
  return Array.from({ length: count }, () => {
    cursor.terminatedString(); // Always empty.
    cursor.bytes(GUID_BYTES);
    cursor.int32(); // The kind of file.
    return cursor.terminatedString();
  });
}

/** Entries begin at a multiple of 4, counted from the start of the file. */
function alignInFile(cursor: MetadataCursor): void {
  const rest = cursor.filePosition % 4;
  if (rest > 0) cursor.bytes(4 - rest);
}
