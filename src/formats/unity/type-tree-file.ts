import { isRecord } from '../../domain/is-record.ts';
import { FormatError } from '../format-error.ts';
import { ALIGN_FLAG, nestTypeTree, type TypeTree } from './type-tree.ts';

interface TypeTreeQuery {
  /** `null` for the type of a managed reference. */
  readonly classId: number | null;
  /** 32 hexadecimal digits; `null` for other classes than MonoBehaviour. */
  readonly scriptHash: string | null;
  /** The C# class with its namespace, where the file says it. */
  readonly className: string | null;
  /** The assembly of the class, where the file says it. */
  readonly assembly: string | null;
}

/** Finds a configured type tree; `null` where there is none. */
export type TypeTreeOf = (query: TypeTreeQuery) => TypeTree | null;

/** The field names are those that UnityPy and other tools write, so that their dumps can be used. */
interface Node {
  readonly m_Level: number;
  readonly m_Type: string;
  readonly m_Name: string;
  readonly m_ByteSize: number;
  readonly m_MetaFlag: number;
}

interface Entry {
  readonly classId?: number;
  readonly scriptHash?: string;
  readonly className?: string;
  readonly assembly?: string;
  readonly nodes: readonly Node[];
}

/**
 * Reads a file of type trees:
 *
 * ```json
 * { "typeTrees": [{ "className": "Game.Dialog", "nodes": [
 *   { "m_Level": 0, "m_Type": "MonoBehaviour", "m_Name": "Base", "m_ByteSize": -1, "m_MetaFlag": 0 },
 *   { "m_Level": 1, "m_Type": "string", "m_Name": "text", "m_ByteSize": -1, "m_MetaFlag": 16384 }
 * ] }] }
 * ```
 *
 * or what generators of type trees write: the nodes of each class by its name, alone or within its assembly.
 *
 * Each entry names its type by `scriptHash` (32 hexadecimal digits), by `className` (with namespace) or by `classId`; a
 * type is looked up in this order. Assemblies can have different classes of one name: a managed reference says which one it means.
 * Each node stands before its children; `m_MetaFlag` 16384 means alignment to 4.
 *
 * @throws FormatError `schema_invalid`, with the place in the file
 */
export function readTypeTreeFile(text: string, depth: number): TypeTreeOf {
  const trees = new Map<string, TypeTree>();
  const byClass = new Map<string, NamedTree[]>();
  for (const [index, entry] of readEntries(text).entries()) {
    const tree = nestTypeTree(
      entry.nodes.map((node) => ({
        level: node.m_Level,
        type: node.m_Type,
        name: node.m_Name,
        byteSize: node.m_ByteSize,
        aligned: (node.m_MetaFlag & ALIGN_FLAG) !== 0,
      })),
      depth,
    );
    if (typeof tree === 'string') throw new FormatError('schema_invalid', `typeTrees.${index}: ${tree}`);
    if (entry.className !== undefined) {
      const named = { tree, assembly: entry.assembly ?? null, nodes: JSON.stringify(entry.nodes) };
      const others = byClass.get(entry.className) ?? [];
      byClass.set(entry.className, [...others, named]);
      if (entry.assembly !== undefined) continue;
    }
    const key = keyOf(entry.scriptHash ?? entry.className ?? entry.classId ?? '');
    if (trees.has(key))
      throw new FormatError('schema_invalid', `typeTrees.${index} is a second tree for ${key}`);
    trees.set(key, tree);
  }
  const treeOf = (key: string | number | null): TypeTree | undefined =>
    key === null ? undefined : trees.get(keyOf(key));
  return ({ classId, scriptHash, className, assembly }) =>
    treeOf(scriptHash) ??
    (className === null ? null : classTree(className, assembly, byClass.get(className) ?? [])) ??
    treeOf(classId) ??
    null;
}

interface NamedTree {
  readonly tree: TypeTree;
  /** `null`: of any assembly. */
  readonly assembly: string | null;
  readonly nodes: string;
}

/**
 * The tree of a class.
 *
 * @throws FormatError `typetree_missing` where several assemblies have different classes of the name and nothing says which is meant
 */
function classTree(className: string, assembly: string | null, trees: readonly NamedTree[]): TypeTree | null {
  const exact = trees.find((each) => assembly !== null && isAssembly(each.assembly, assembly));
  const [first, ...others] = trees;
  const isOnly = first !== undefined && others.every(({ nodes }) => nodes === first.nodes);
  if (exact !== undefined || isOnly) return (exact ?? first)?.tree ?? null;
  if (first === undefined || assembly !== null) return null;
  const found = trees.map((each) => each.assembly).join(', ');
  const message = `the type tree file has different trees for the class ${className}, of ${found}; name the right one by its scriptHash`;
  throw new FormatError('typetree_missing', message);
}

/** Generators name an assembly with or without the extension of its file. */
function isAssembly(left: string | null, right: string): boolean {
  const bare = (name: string): string => name.replace(/\.dll$/i, '');
  return left !== null && bare(left) === bare(right);
}

// Without a schema of zod, whose modules are a third of the start of a process that reads containers.
function readEntries(text: string): readonly Entry[] {
  const content = parseJson(text);
  if (isRecord(content) && content['typeTrees'] === undefined && Object.keys(content).length > 0) {
    return generatedEntries(content);
  }
  const { typeTrees, ...others } = isRecord(content) ? content : {};
  requireNothing(others, '');
  if (!Array.isArray(typeTrees)) throw wrong('typeTrees', 'it is not a list');
  return typeTrees.map((entry, index) => entryOf(entry, `typeTrees.${index}`));
}

/** The nodes of classes by their names, alone or all by their assemblies, as generators of type trees write them. */
function generatedEntries(content: Readonly<Record<string, unknown>>): readonly Entry[] {
  const members = Object.entries(content);
  const alone = members.flatMap(([className, nodes]): readonly Entry[] => {
    if (isRecord(nodes)) return [];
    if (!isGenerated(nodes)) {
      throw wrong(
        className,
        'it is neither a class with a list of nodes nor typeTrees, the list of type trees',
      );
    }
    return [{ className: requireClass(className), nodes: nodesOf(nodes, className) }];
  });
  if (alone.length === members.length) return alone;
  return members.flatMap(([assembly, value]): readonly Entry[] => {
    if (!isRecord(value))
      throw wrong(assembly, 'it is a class beside an assembly; a file has only one of both');
    const classes = Object.entries(value);
    requireText(assembly, 'the name of an assembly');
    if (classes.length === 0) throw wrong(assembly, 'the assembly has no class');
    return classes.map(([className, nodes]) => {
      return {
        className: requireClass(className),
        assembly,
        nodes: nodesOf(nodes, `${assembly}.${className}`),
      };
    });
  });
}

/** Whether a value can be the nodes of a class, and not a list of entries under a wrong key. */
function isGenerated(value: unknown): boolean {
  const first: unknown = Array.isArray(value) ? value[0] : undefined;
  return isRecord(first) && first['m_Level'] !== undefined;
}

function requireClass(name: string): string {
  return requireText(name, 'the name of a class');
}

function entryOf(value: unknown, place: string): Entry {
  if (!isRecord(value)) throw wrong(place, 'it is not an object');
  const { classId, scriptHash, className, nodes, ...others } = value;
  requireNothing(others, `${place}.`);
  if ([classId, scriptHash, className].filter((each) => each !== undefined).length !== 1) {
    throw wrong(place, 'exactly one of classId, scriptHash and className is required');
  }
  const entry = { nodes: nodesOf(nodes, `${place}.nodes`) };
  if (classId !== undefined) return { ...entry, classId: requireInteger(classId, `${place}.classId`) };
  if (className !== undefined) return { ...entry, className: requireText(className, `${place}.className`) };
  const hash = requireText(scriptHash, `${place}.scriptHash`);
  if (!/^[0-9a-f]{32}$/.test(hash)) throw wrong(`${place}.scriptHash`, 'it is not 32 hexadecimal digits');
  return { ...entry, scriptHash: hash };
}

function nodesOf(value: unknown, place: string): readonly Node[] {
  if (!Array.isArray(value) || value.length === 0) throw wrong(place, 'it is not a list of nodes');
  return value.map((node: unknown, index) => {
    const at = `${place}.${index}`;
    if (!isRecord(node)) throw wrong(at, 'it is not an object');
    const { m_Level: level, m_Type: type, m_Name: name, m_ByteSize: size = -1, m_MetaFlag: flags = 0 } = node;
    return {
      m_Level: requireInteger(level, `${at}.m_Level`, 0),
      m_Type: requireString(type, `${at}.m_Type`),
      m_Name: requireString(name, `${at}.m_Name`),
      m_ByteSize: requireInteger(size, `${at}.m_ByteSize`),
      m_MetaFlag: requireInteger(flags, `${at}.m_MetaFlag`),
    };
  });
}

function requireString(value: unknown, place: string): string {
  if (typeof value === 'string') return value;
  throw wrong(place, 'it is not a string');
}

function requireText(value: unknown, place: string): string {
  const text = requireString(value, place);
  if (text === '') throw wrong(place, 'it must not be empty');
  return text;
}

function requireInteger(value: unknown, place: string, least = Number.MIN_SAFE_INTEGER): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
  const range = least === Number.MIN_SAFE_INTEGER ? '' : ` from ${least}`;
  throw wrong(place, `it is not an integer${range}`);
}

function requireNothing(others: Readonly<Record<string, unknown>>, around: string): void {
  const [other] = Object.keys(others);
  if (other !== undefined) throw wrong(`${around}${other}`, 'there is no such field');
}

function wrong(place: string, problem: string): FormatError {
  return new FormatError('schema_invalid', `the type tree file is wrong: ${place}: ${problem}`);
}

function keyOf(name: string | number): string {
  return `${typeof name} ${name}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new FormatError('schema_invalid', `the type tree file is not JSON: ${String(error)}`);
  }
}
