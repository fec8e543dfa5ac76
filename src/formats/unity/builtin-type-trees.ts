import { CLASS_IDS } from './serialized-types.ts';
import type { TypeTree } from './type-tree.ts';

/** The layouts that are the same in every supported version of Unity, for files without type trees. */
export function builtinTypeTree(classId: number): TypeTree | null {
  return TREES.get(classId) ?? null;
}

/** The fields that every MonoBehaviour begins with; those of its script follow. */
export const MONO_BEHAVIOUR_HEAD: TypeTree = tree('MonoBehaviour', 'Base', [
  reference('m_GameObject'),
  { ...tree('UInt8', 'm_Enabled'), aligned: true },
  reference('m_Script'),
  tree('string', 'm_Name'),
]);

/** The first fields of a MonoScript, which names a C# class. */
export const MONO_SCRIPT_HEAD: TypeTree = tree('MonoScript', 'Base', [
  tree('string', 'm_Name'),
  tree('int', 'm_ExecutionOrder'),
  { ...tree('Hash128', 'm_PropertiesHash'), byteSize: 16 },
  tree('string', 'm_ClassName'),
  tree('string', 'm_Namespace'),
]);

const TREES: ReadonlyMap<number, TypeTree> = new Map([
  [CLASS_IDS.textAsset, tree('TextAsset', 'Base', [tree('string', 'm_Name'), tree('string', 'm_Script')])],
]);

function reference(name: string): TypeTree {
  return tree('PPtr<Object>', name, [tree('int', 'm_FileID'), tree('SInt64', 'm_PathID')]);
}

function tree(type: string, name: string, children: readonly TypeTree[] = []): TypeTree {
  return { type, name, byteSize: -1, aligned: false, children };
}
