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
type Classes = z.output<typeof CLASSES>;
const ASSEMBLIES = z
  .record(z.string().min(1), CLASSES)
  .refine((assemblies) => Object.keys(assemblies).length > 0);
const GENERATED = z.union([
  CLASSES.transform((classes) => [classes]),
  ASSEMBLIES.transform(Object.values<Classes>),
]);

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
 * type is looked up in this order. Each node stands before its children; `m_MetaFlag` 16384 means alignment to 4.
 *
 * @throws FormatError `schema_invalid`, with the place in the file
 */
export function readTypeTreeFile(text: string, depth: number): TypeTreeOf {
  const content = parseJson(text);
  const generated = GENERATED.safeParse(content);
  const parsed = FILE.safeParse(generated.success ? { typeTrees: entriesOf(generated.data) } : content);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new FormatError('schema_invalid', `the type tree file is wrong: ${problems.join('; ')}`);
  }
  const trees = new Map<string, TypeTree>();
  for (const [index, entry] of parsed.data.typeTrees.entries()) {
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
    const key = keyOf(entry.scriptHash ?? entry.className ?? entry.classId ?? '');
    if (trees.has(key))
      throw new FormatError('schema_invalid', `typeTrees.${index} is a second tree for ${key}`);
    trees.set(key, tree);
  }
  return ({ classId, scriptHash, className }) =>
    [scriptHash, className, classId]
      .map((each) => (each === null ? undefined : trees.get(keyOf(each))))
      .find((tree) => tree !== undefined) ?? null;
}

function entriesOf(generated: readonly Classes[]): z.output<typeof FILE>['typeTrees'] {
  return generated.flatMap((classes) =>
    Object.entries(classes).map(([className, nodes]) => ({ className, nodes })),
  );
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
