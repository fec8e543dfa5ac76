import { z } from 'zod';
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
const NODE = z.object({
  m_Level: z.int().min(0).max(255),
  m_Type: z.string(),
  m_Name: z.string(),
  m_ByteSize: z.int().default(-1),
  m_MetaFlag: z.int().default(0),
});
const ENTRY = z
  .strictObject({
    classId: z.int().optional(),
    scriptHash: z
      .string()
      .regex(/^[0-9a-f]{32}$/)
      .optional(),
    className: z.string().min(1).optional(),
    nodes: z.array(NODE).min(1),
  })
  .refine(
    ({ classId, scriptHash, className }) =>
      [classId, scriptHash, className].filter((each) => each !== undefined).length === 1,
    'exactly one of classId, scriptHash and className is required',
  );
const FILE = z.strictObject({ typeTrees: z.array(ENTRY) });
/** The nodes of classes by their names, alone or by their assemblies, as generators of type trees write them. */
const CLASSES = z
  .record(z.string().min(1), z.array(NODE).min(1))
  .refine((classes) => Object.keys(classes).length > 0);
const ASSEMBLIES = z
  .record(z.string().min(1), CLASSES)
  .refine((assemblies) => Object.keys(assemblies).length > 0);
const GENERATED = z.union([
  CLASSES.transform((classes) => entriesOf(classes)),
  ASSEMBLIES.transform((assemblies) =>
    Object.entries(assemblies).flatMap(([assembly, classes]) => entriesOf(classes, assembly)),
  ),
]);
type Entry = z.output<typeof ENTRY> & { readonly assembly?: string };

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

function readEntries(text: string): readonly Entry[] {
  const content = parseJson(text);
  const generated = GENERATED.safeParse(content);
  if (generated.success) return generated.data;
  const parsed = FILE.safeParse(content);
  if (parsed.success) return parsed.data.typeTrees;
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new FormatError('schema_invalid', `the type tree file is wrong: ${problems.join('; ')}`);
}

function entriesOf(classes: z.output<typeof CLASSES>, assembly?: string): readonly Entry[] {
  const own = assembly === undefined ? {} : { assembly };
  return Object.entries(classes).map(([className, nodes]) => ({ className, nodes, ...own }));
}

function keyOf(name: string | number): string {
  return `${typeof name} ${name}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FormatError('schema_invalid', `the type tree file is not JSON: ${String(error)}`);
  }
}
