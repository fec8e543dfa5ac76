import { FormatError, readableOr } from '../format-error.ts';
import { READ_LIMITS, visitorOf, type ValueVisitor } from '../value-visitor.ts';
import {
  CLASS_IDS,
  builtinTypeTree,
  MONO_BEHAVIOUR_HEAD,
  MONO_SCRIPT_HEAD,
  type TypeTree,
} from './type-tree.ts';
import { compileTypeTree } from './compile-type-tree.ts';
import { type CompiledType, ObjectCursor } from './object-cursor.ts';
import type { SerializedFile, SerializedObject } from './serialized-file.ts';

export interface ObjectName {
  /** `m_Name`; `null` where the class has none, or where the file has no type tree for it. */
  readonly name: string | null;
  /** The script of a MonoBehaviour; else `null`. */
  readonly script: ObjectScript | null;
}

/** The C# class behind a MonoBehaviour, as far as the file says it. */
interface ObjectScript {
  readonly hash: string | null;
  /** The file that holds the script; `null`: the same file. */
  readonly file: string | null;
  readonly pathId: bigint;
  /** With its namespace; `null` where the script stands in another file. */
  readonly className: string | null;
}

/** Names stand near the beginning, so a large object is not read for its name. */
const HEAD_BYTES = 16 * 1024;
const HEAD_LIMITS = { ...READ_LIMITS, stringBytes: HEAD_BYTES, elements: HEAD_BYTES };

/**
 * Reads the name of an object, and the script of a MonoBehaviour, without the rest of it.
 *
 * @throws FormatError `typetree_size_mismatch`, `typetree_invalid` or `field_too_large`, with the offset in the object; and
 *   the errors of the bundle
 */
export function readObjectName(file: SerializedFile, object: SerializedObject): ObjectName {
  const { classId, scriptHash, tree } = object.type;
  const known =
    tree ??
    builtinTypeTree(classId) ??
    file.typeTreeOf({ classId, scriptHash, className: null, assembly: null });
  if (classId !== CLASS_IDS.monoBehaviour) {
    return {
      name: known === null ? null : (readHead(file, object, known).texts.get('m_Name') ?? null),
      script: null,
    };
  }
  const head = readHead(file, object, tree ?? MONO_BEHAVIOUR_HEAD);
  return { name: head.texts.get('m_Name') ?? null, script: scriptOf(file, object, head) };
}

function scriptOf(file: SerializedFile, object: SerializedObject, head: Head): ObjectScript {
  const fileId = Number(head.integers.get('m_Script.m_FileID') ?? 0);
  const pathId = BigInt(head.integers.get('m_Script.m_PathID') ?? 0);
  return {
    hash: object.type.scriptHash,
    file: fileId === 0 ? null : (file.externals[fileId - 1] ?? null),
    pathId,
    className: fileId === 0 ? classNameOf(file, pathId) : null,
  };
}

const CLASS_NAMES = new WeakMap<SerializedFile, Map<bigint, string>>();

function classNameOf(file: SerializedFile, pathId: bigint): string | null {
  let names = CLASS_NAMES.get(file);
  if (names === undefined) {
    names = new Map();
    for (const object of file.objects) {
      if (object.type.classId !== CLASS_IDS.monoScript) continue;
      const name = readClassName(file, object);
      if (name !== null) names.set(object.pathId, name);
    }
    CLASS_NAMES.set(file, names);
  }
  return names.get(pathId) ?? null;
}

function readClassName(file: SerializedFile, script: SerializedObject): string | null {
  // A damaged script must not cost the objects of other scripts.
  return readableOr(null, () => {
    const { texts } = readHead(file, script, script.type.tree ?? MONO_SCRIPT_HEAD, 'm_Namespace');
    const parts = [texts.get('m_Namespace'), texts.get('m_ClassName')];
    return parts.filter((part) => part !== undefined && part !== '').join('.');
  });
}

interface Head {
  readonly texts: ReadonlyMap<string, string>;
  /** By `field.field`. */
  readonly integers: ReadonlyMap<string, number | bigint>;
}

function readHead(file: SerializedFile, object: SerializedObject, tree: TypeTree, last = 'm_Name'): Head {
  const { littleEndian } = file.header;
  const compiled = compileHead(tree, littleEndian, last);
  const texts = new Map<string, string>();
  const integers = new Map<string, number | bigint>();
  if (compiled === null) return { texts, integers };
  const read = (size: number): void => {
    const bytes = file.source.read(object.offset, size);
    compiled.visit(new ObjectCursor(bytes, collector(texts, integers), HEAD_LIMITS));
  };
  try {
    read(Math.min(object.size, HEAD_BYTES));
  } catch (error) {
    if (!(error instanceof FormatError) || object.size <= HEAD_BYTES) throw error;
    read(object.size);
  }
  return { texts, integers };
}

const COMPILED = new WeakMap<TypeTree, Map<string, CompiledType | null>>();

/** Compiles the fields up to one of them; `null` where the tree has none of this name. */
function compileHead(tree: TypeTree, littleEndian: boolean, last: string): CompiledType | null {
  const known = COMPILED.get(tree) ?? new Map<string, CompiledType | null>();
  COMPILED.set(tree, known);
  const key = `${littleEndian} ${last}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const count = tree.children.findIndex(({ name, type }) => name === last && type === 'string') + 1;
  const head = { ...tree, aligned: false, children: tree.children.slice(0, count) };
  const compiled = count === 0 ? null : compileTypeTree(head, littleEndian);
  known.set(key, compiled);
  return compiled;
}

/** Collects the texts of the object, and the integers of objects within it. */
function collector(texts: Map<string, string>, integers: Map<string, number | bigint>): ValueVisitor {
  const path: string[] = [];
  return visitorOf({
    beginObject: () => path.push(''),
    endObject: () => path.pop(),
    beginArray: () => path.push('[]'),
    endArray: () => path.pop(),
    field: (name) => (path[path.length - 1] = name),
    text: (value) => {
      if (path.length === 1) texts.set(path.join('.'), value);
    },
    integer: (value) => {
      if (path.length === 2) integers.set(path.join('.'), value);
    },
  });
}
