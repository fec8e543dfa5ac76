import { UNITY_COMMON_STRINGS } from '../../../src/formats/unity/common-strings.ts';

import { ByteWriter } from './byte-writer.ts';
import type { UnityType, UnityValue } from './unity-type.ts';
import { writeValue } from './write-value.ts';

/** An object to write. */
export interface UnityObject {
  readonly pathId: bigint;
  /** 49: TextAsset, 114: MonoBehaviour, 115: MonoScript. */
  readonly classId: number;
  readonly type: UnityType;
  readonly value: UnityValue;
  /** 16 bytes that identify the script of a MonoBehaviour. */
  readonly scriptHash?: Uint8Array;
}

/** The objects of a serialized file, and its layout. */
export interface SerializedFileContent {
  /** 17 to 22. */
  readonly version: number;
  readonly littleEndian?: boolean;
  readonly engineVersion?: string;
  /** `false`: stripped, as for a player. */
  readonly typeTrees?: boolean;
  readonly objects: readonly UnityObject[];
  readonly externals?: readonly string[];
  /** Types that only managed references use; from version 20 on. */
  readonly referenceTypes?: readonly UnityType[];
  /** Objects begin at a multiple of it: 8, and 16 from Unity 6000 on. */
  readonly objectAlignment?: number;
}

const HASH_BYTES = 16;
const ALIGN_FLAG = 0x4000;
const COMMON_BIT = 0x8000_0000;
/** "StandaloneWindows64". */
const PLATFORM = 19;
const MONO_BEHAVIOUR = 114;
const LARGE_SINCE = 22;
const SMALL_HEADER = 20;
const LARGE_HEADER = 48;
const DATA_ALIGNMENT = 16;

/** Writes a serialized file. The same content gives the same bytes. */
export function writeSerializedFile(content: SerializedFileContent): Buffer {
  const { version, littleEndian = true, objectAlignment = 8 } = content;
  const data = new ByteWriter(littleEndian);
  const spans = content.objects.map(({ type, value }) => {
    data.align(objectAlignment);
    const offset = data.length;
    writeValue(data, type, value, content.referenceTypes);
    return { offset, size: data.length - offset };
  });
  const headerBytes = version >= LARGE_SINCE ? LARGE_HEADER : SMALL_HEADER;
  const metadata = writeMetadata(content, spans);
  const end = headerBytes + metadata.length;
  const dataOffset = Math.ceil(end / DATA_ALIGNMENT) * DATA_ALIGNMENT;
  const header = new ByteWriter();
  const fileSize = dataOffset + data.length;
  const isLarge = version >= LARGE_SINCE;
  header.integer(isLarge ? 0 : metadata.length, 4);
  header.integer(isLarge ? 0 : fileSize, 4);
  header.integer(version, 4);
  header.integer(isLarge ? 0 : dataOffset, 4);
  header.bytes(Buffer.from([littleEndian ? 0 : 1, 0, 0, 0]));
  if (isLarge) {
    header.integer(metadata.length, 4);
    for (const value of [fileSize, dataOffset, 0]) header.integer(value, 8);
  }
  return Buffer.concat([header.result(), metadata, Buffer.alloc(dataOffset - end), data.result()]);
}

interface Span {
  readonly offset: number;
  readonly size: number;
}

function writeMetadata(content: SerializedFileContent, spans: readonly Span[]): Buffer {
  const { version, littleEndian = true, objects, externals = [], referenceTypes = [] } = content;
  const writer = new ByteWriter(littleEndian);
  // Entries are aligned by the start of the file, and both headers are multiples of 4.
  writer.terminatedString(content.engineVersion ?? '2022.3.10f1');
  writer.integer(PLATFORM, 4);
  writer.integer((content.typeTrees ?? true) ? 1 : 0, 1);
  const types = [...new Map(objects.map((each) => [typeKey(each), each])).values()];
  writer.integer(types.length, 4);
  for (const each of types) writeType(writer, content, each, false);
  writer.integer(objects.length, 4);
  for (const [index, each] of objects.entries()) {
    writer.align(4);
    writer.integer(each.pathId, 8);
    writer.integer(spans[index]?.offset ?? 0, version >= LARGE_SINCE ? 8 : 4);
    writer.integer(spans[index]?.size ?? 0, 4);
    writer.integer(
      types.findIndex((type) => typeKey(type) === typeKey(each)),
      4,
    );
  }
  writer.integer(0, 4); // Scripts.
  writer.integer(externals.length, 4);
  for (const path of externals) {
    writer.terminatedString('');
    writer.bytes(Buffer.alloc(HASH_BYTES));
    writer.integer(0, 4);
    writer.terminatedString(path);
  }
  if (version >= 20) {
    writer.integer(referenceTypes.length, 4);
    for (const type of referenceTypes) writeType(writer, content, { classId: -1, type }, true);
  }
  writer.terminatedString('');
  return writer.result();
}

/** Objects with equal keys share a type: the class, and the script or the tree. */
function typeKey({ classId, scriptHash, type }: UnityObject): string {
  return `${classId} ${scriptHash === undefined ? type.type : Buffer.from(scriptHash).toString('hex')}`;
}

function writeType(
  writer: ByteWriter,
  { version, typeTrees = true }: SerializedFileContent,
  { classId, type, scriptHash }: Omit<UnityObject, 'pathId' | 'value'>,
  isReference: boolean,
): void {
  writer.integer(classId, 4);
  writer.integer(0, 1);
  writer.integer(classId === MONO_BEHAVIOUR ? 0 : -1, 2);
  if (classId === MONO_BEHAVIOUR) writer.bytes(scriptHash ?? Buffer.alloc(HASH_BYTES));
  writer.bytes(Buffer.alloc(HASH_BYTES));
  if (!typeTrees) return;
  writeTypeTree(writer, version, type);
  if (version < 21) return;
  if (isReference) for (const part of [type.type, 'Demo', 'Demo']) writer.terminatedString(part);
  else writer.integer(0, 4);
}

function writeTypeTree(writer: ByteWriter, version: number, root: UnityType): void {
  const names = new ByteWriter();
  const offsets = new Map<string, number>();
  const offsetOf = (name: string): number => {
    const common = UNITY_COMMON_STRINGS.get(name);
    if (common !== undefined) return COMMON_BIT + common;
    const known = offsets.get(name) ?? names.length;
    if (!offsets.has(name)) names.terminatedString(name);
    offsets.set(name, known);
    return known;
  };
  const nodes = new ByteWriter(writer.littleEndian);
  let count = 0;
  const visit = (node: UnityType, level: number): void => {
    nodes.integer(1, 2);
    nodes.integer(level, 1);
    nodes.integer(node.type === 'Array' ? 1 : 0, 1);
    for (const value of [offsetOf(node.type), offsetOf(node.name), node.byteSize, count]) {
      nodes.integer(value, 4);
    }
    nodes.integer(node.aligned ? ALIGN_FLAG : 0, 4);
    if (version >= 19) nodes.integer(0, 8);
    count += 1;
    for (const child of node.children) visit(child, level + 1);
  };
  visit(root, 0);
  writer.integer(count, 4);
  writer.integer(names.length, 4);
  writer.bytes(nodes.result());
  writer.bytes(names.result());
}
