import { UTF8_CODEC, type StringCodec } from '../codecs/string-codec.ts';
import { exactInteger, type ReadLimits, type ReportPartError, type ValueVisitor } from '../value-visitor.ts';
import { FormatError } from '../format-error.ts';
import {
  BASE_TYPE,
  baseTypeBytes,
  isInteger,
  isScalar,
  type BinarySchema,
  type SchemaField,
  type SchemaObject,
  type SchemaType,
} from './binary-schema.ts';
import { CheckedBuffer, type TableView, type VectorView } from './checked-buffer.ts';

interface TextField {
  /** Name of the table in the schema, with its namespace. */
  readonly table: string;
  readonly name: string;
  readonly stored: 'string' | 'bytes';
}

export interface FlatBufferOptions {
  readonly limits: ReadLimits;
  /** Receives strings that cannot be read; the visitor gets `other()` for them. */
  readonly reportPartError: ReportPartError;
  /**
   * Chooses the codec of a field. Without a codec a string is UTF-8, and a vector of bytes is visited as `bytes()`. It
   * runs for each value, so it should be quick.
   */
  readonly codecOf?: (field: TextField) => StringCodec | null;
  /** Receives, directly before each `text()` and `bytes()`, the reference to it. Write-back stores another one there. */
  readonly onReference?: (reference: TextReference) => void;
}

/** How a table refers to a text or to bytes. */
export interface TextReference {
  /** Where the 32-bit offset is that leads to the length prefix. */
  readonly position: number;
  /** Decodes the text; `null` for bytes. */
  readonly codec: StringCodec | null;
  readonly stored: TextField['stored'];
}

interface Walk {
  readonly buffer: CheckedBuffer;
  readonly schema: BinarySchema;
  readonly visitor: ValueVisitor;
  readonly options: FlatBufferOptions;
  /** Names and indexes from the root to the current value. */
  readonly path: (string | number)[];
  depth: number;
  /** Values and bytes of texts that were visited. */
  spent: number;
}

const IDENTIFIER_OFFSET = 4;
const OFFSET_BYTES = 4;

/**
 * Visits the values of a FlatBuffer from its root table on. Fields come in the order of their declaration. An absent
 * integer has its default value. Floats, booleans, absent fields, and vectors that hold neither texts nor integers are
 * left out. The positions of a text are those of the length prefix and behind the last byte of the text.
 *
 * Offsets only lead forward, so there are no cycles, but parts can be shared: the walk ends with
 * `container_limit_exceeded` when it visits more values and bytes than `limits.ratio` times the size of the buffer.
 *
 * @throws FormatError `flatbuffers_invalid`, `nesting_too_deep`, `container_limit_exceeded`
 */
export function visitFlatBuffer(
  bytes: Uint8Array,
  schema: BinarySchema,
  visitor: ValueVisitor,
  options: FlatBufferOptions,
): void {
  const buffer = new CheckedBuffer(bytes, 'flatbuffers_invalid');
  const root = buffer.follow(0);
  checkIdentifier(buffer, schema);
  visitTable({ buffer, schema, visitor, options, path: [], depth: 0, spent: 0 }, schema.root, root);
}

function checkIdentifier(buffer: CheckedBuffer, { identifier }: BinarySchema): void {
  if (identifier === null) return;
  buffer.check(IDENTIFIER_OFFSET, identifier.length);
  const end = IDENTIFIER_OFFSET + identifier.length;
  if (buffer.bytes.toString('latin1', IDENTIFIER_OFFSET, end) === identifier) return;
  throw buffer.error(
    `the file does not have the identifier "${identifier}" of its schema`,
    IDENTIFIER_OFFSET,
  );
}

function visitTable(walk: Walk, object: SchemaObject, position: number): void {
  enter(walk, position);
  walk.visitor.beginObject();
  const table = walk.buffer.table(position);
  for (const field of object.fields) {
    walk.path.push(field.name);
    visitTableField(walk, object, table, field);
    walk.path.pop();
  }
  walk.visitor.endObject();
  walk.depth -= 1;
}

function visitTableField(walk: Walk, object: SchemaObject, table: TableView, field: SchemaField): void {
  const { type, name } = field;
  const position = walk.buffer.field(table, field.offset);
  if (position === null) {
    if (field.required) throw walk.buffer.error(`the required field "${name}" is absent`, table.position);
    if (!isInteger(type.base) || field.optional) return;
    walk.visitor.field(name);
    walk.visitor.integer(exactInteger(field.defaultInteger));
  } else if (type.base === BASE_TYPE.vector) {
    visitVectorField(walk, object, table, field, position);
  } else if (type.base === BASE_TYPE.union) {
    const member = unionMember(walk, type, unionTypePosition(walk, table, field));
    if (member === null) return;
    walk.visitor.field(name);
    visitReferred(walk, member, position, codecFor(walk, object, field, 'string'));
  } else if (type.base === BASE_TYPE.string) {
    walk.visitor.field(name);
    visitString(walk, position, codecFor(walk, object, field, 'string'));
  } else if (type.base === BASE_TYPE.object) {
    walk.visitor.field(name);
    if (objectOf(walk, type).isStruct) visitStruct(walk, objectOf(walk, type), position);
    else visitTable(walk, objectOf(walk, type), walk.buffer.follow(position));
  } else {
    visitScalarField(walk, name, type.base, position);
  }
}

function visitVectorField(
  walk: Walk,
  object: SchemaObject,
  table: TableView,
  field: SchemaField,
  position: number,
): void {
  const { type, name } = field;
  if (type.element === BASE_TYPE.ubyte || type.element === BASE_TYPE.byte) {
    const codec = codecFor(walk, object, field, 'bytes');
    const view = walk.buffer.vector(position, 1);
    walk.visitor.field(name);
    if (codec === null) visitBytes(walk, position, view);
    else visitText(walk, { position, codec, stored: 'bytes' }, view);
    return;
  }
  const bytes = elementBytes(walk, type);
  const codec = codecFor(walk, object, field, 'string');
  const types = type.element === BASE_TYPE.union ? unionTypes(walk, table, field) : null;
  if (types === null && isScalar(type.element) && !isInteger(type.element)) return;
  const vector = walk.buffer.vector(position, bytes);
  checkCount(walk, vector.length, vector.prefix);
  if (types !== null && types.length !== vector.length) {
    throw walk.buffer.error('a vector of unions and its types have different lengths', vector.prefix);
  }
  walk.visitor.field(name);
  visitElements(walk, vector.prefix, vector.length, (index) => {
    const element = vector.start + index * bytes;
    if (types === null) {
      visitElement(walk, type, element, codec);
      return;
    }
    const member = unionMember(walk, type, types.start + index);
    if (member === null) walk.visitor.other();
    else visitReferred(walk, member, element, codec);
  });
}

function visitElement(walk: Walk, type: SchemaType, position: number, codec: StringCodec | null): void {
  if (isScalar(type.element)) visitScalar(walk, type.element, position);
  else if (type.element === BASE_TYPE.object && objectOf(walk, type).isStruct) {
    visitStruct(walk, objectOf(walk, type), position);
  } else {
    visitReferred(walk, { base: type.element, element: 0, index: type.index, length: 0 }, position, codec);
  }
}

function visitReferred(walk: Walk, type: SchemaType, position: number, codec: StringCodec | null): void {
  if (type.base === BASE_TYPE.string) {
    visitString(walk, position, codec);
  } else if (type.base !== BASE_TYPE.object) {
    walk.visitor.other();
  } else if (objectOf(walk, type).isStruct) {
    visitStruct(walk, objectOf(walk, type), walk.buffer.follow(position));
  } else {
    visitTable(walk, objectOf(walk, type), walk.buffer.follow(position));
  }
}

function visitStruct(walk: Walk, object: SchemaObject, position: number): void {
  walk.buffer.check(position, object.bytes);
  enter(walk, position);
  walk.visitor.beginObject();
  for (const { name, type, offset } of object.fields) {
    walk.path.push(name);
    if (type.base === BASE_TYPE.object) {
      walk.visitor.field(name);
      visitStruct(walk, objectOf(walk, type), position + offset);
    } else if (type.base === BASE_TYPE.array) {
      const bytes = elementBytes(walk, type);
      walk.visitor.field(name);
      visitElements(walk, position + offset, type.length, (index) =>
        visitElement(walk, type, position + offset + index * bytes, null),
      );
    } else {
      visitScalarField(walk, name, type.base, position + offset);
    }
    walk.path.pop();
  }
  walk.visitor.endObject();
  walk.depth -= 1;
}

function visitElements(walk: Walk, position: number, count: number, visitAt: (index: number) => void): void {
  enter(walk, position);
  walk.visitor.beginArray();
  for (let index = 0; index < count; index += 1) {
    walk.path.push(index);
    visitAt(index);
    walk.path.pop();
  }
  walk.visitor.endArray();
  walk.depth -= 1;
}

function visitScalarField(walk: Walk, name: string, base: number, position: number): void {
  if (!isInteger(base)) return;
  walk.visitor.field(name);
  visitScalar(walk, base, position);
}

function visitScalar(walk: Walk, base: number, position: number): void {
  spend(walk, 1, position);
  if (isInteger(base)) walk.visitor.integer(readInteger(walk.buffer, base, position));
  else walk.visitor.other();
}

function readInteger(buffer: CheckedBuffer, base: number, position: number): number | bigint {
  switch (base) {
    case BASE_TYPE.byte:
      return buffer.int8(position);
    case BASE_TYPE.ubyte:
      return buffer.uint8(position);
    case BASE_TYPE.short:
      return buffer.int16(position);
    case BASE_TYPE.ushort:
      return buffer.uint16(position);
    case BASE_TYPE.int:
      return buffer.int32(position);
    case BASE_TYPE.uint:
      return buffer.uint32(position);
    case BASE_TYPE.long:
      return exactInteger(buffer.int64(position));
    default:
      return exactInteger(buffer.uint64(position));
  }
}

function visitString(walk: Walk, position: number, codec: StringCodec | null): void {
  visitText(walk, { position, codec: codec ?? UTF8_CODEC, stored: 'string' }, walk.buffer.string(position));
}

function visitText(
  walk: Walk,
  reference: TextReference & { readonly codec: StringCodec },
  view: VectorView,
): void {
  const { buffer, visitor, options } = walk;
  const { position, codec } = reference;
  const end = view.start + view.length;
  spend(walk, 1 + view.length, position);
  let value: string;
  try {
    if (view.length > options.limits.stringBytes) {
      throw new FormatError('field_too_large', `a string has ${view.length} bytes`, view.prefix);
    }
    value = codec.decode(buffer.bytes.subarray(view.start, end));
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const { code, message, offset } = error;
    options.reportPartError(
      offset === null ? new FormatError(code, message, view.start) : error,
      pathOf(walk),
    );
    visitor.other();
    return;
  }
  options.onReference?.(reference);
  visitor.text(value, view.prefix, end);
}

function visitBytes(walk: Walk, position: number, view: VectorView): void {
  const { buffer, visitor, options } = walk;
  spend(walk, 1 + view.length, position);
  const end = view.start + view.length;
  options.onReference?.({ position, codec: null, stored: 'bytes' });
  visitor.bytes(buffer.bytes.subarray(view.start, end), view.prefix, end);
}

function pathOf({ path }: Walk): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .slice(1);
}

function codecFor(
  { options }: Walk,
  object: SchemaObject,
  field: SchemaField,
  stored: 'string' | 'bytes',
): StringCodec | null {
  return options.codecOf?.({ table: object.name, name: field.name, stored }) ?? null;
}

function objectOf({ schema, buffer }: Walk, { index }: SchemaType): SchemaObject {
  const object = schema.objects[index];
  if (object === undefined) throw buffer.error(`the schema has no object ${index}`, null);
  return object;
}

function elementBytes(walk: Walk, type: SchemaType): number {
  const object = type.element === BASE_TYPE.object ? objectOf(walk, type) : null;
  return object?.isStruct === true ? object.bytes : (baseTypeBytes(type.element) ?? OFFSET_BYTES);
}

/** The type of a union is the field before it; see "Unions" in the FlatBuffers Internals document. */
function unionTypePosition({ buffer }: Walk, table: TableView, { offset }: SchemaField): number | null {
  return buffer.field(table, offset - 2);
}

function unionTypes(walk: Walk, table: TableView, field: SchemaField): VectorView {
  const position = unionTypePosition(walk, table, field);
  if (position === null) {
    throw walk.buffer.error(`the types of the unions in "${field.name}" are absent`, table.position);
  }
  return walk.buffer.vector(position, 1);
}

function unionMember(
  { schema, buffer }: Walk,
  { index }: SchemaType,
  position: number | null,
): SchemaType | null {
  const number = position === null ? 0 : buffer.uint8(position);
  return number === 0 ? null : (schema.unions[index]?.get(number) ?? null);
}

function enter(walk: Walk, position: number): void {
  const { depth } = walk.options.limits;
  walk.depth += 1;
  spend(walk, 1, position);
  if (walk.depth <= depth) return;
  throw new FormatError(
    'nesting_too_deep',
    `tables and vectors are nested deeper than ${depth} levels`,
    position,
  );
}

function spend(walk: Walk, count: number, position: number): void {
  walk.spent += count;
  const { ratio } = walk.options.limits;
  if (walk.spent <= ratio * walk.buffer.bytes.length) return;
  const message = `shared parts hold more than ${ratio} times the size of the file`;
  throw new FormatError('container_limit_exceeded', message, position);
}

function checkCount(walk: Walk, count: number, position: number): void {
  if (count <= walk.options.limits.elements) return;
  throw new FormatError('container_limit_exceeded', `a vector has ${count} elements`, position);
}
