/** A node of a type tree that the writer puts into a file. */
export interface UnityType {
  readonly type: string;
  readonly name: string;
  /** -1 where values differ in size. */
  readonly byteSize: number;
  readonly aligned: boolean;
  readonly children: readonly UnityType[];
}

/** A value that fits a {@link UnityType}; an object by the names of its fields. */
export type UnityValue =
  | string
  | number
  | bigint
  | boolean
  | Uint8Array
  | readonly UnityValue[]
  | { readonly [field: string]: UnityValue };

/** The bytes of the types without fields. */
export const LEAF_BYTES: ReadonlyMap<string, number> = new Map([
  ['bool', 1],
  ['char', 1],
  ['SInt8', 1],
  ['UInt8', 1],
  ['SInt16', 2],
  ['UInt16', 2],
  ['int', 4],
  ['SInt32', 4],
  ['unsigned int', 4],
  ['float', 4],
  ['SInt64', 8],
  ['UInt64', 8],
  ['double', 8],
  ['managedReference', 8],
]);

/** A field without fields of its own. */
export function leaf(type: string, name: string, aligned = false): UnityType {
  return { type, name, byteSize: LEAF_BYTES.get(type) ?? -1, aligned, children: [] };
}

/** A field with fields of its own. */
export function object(type: string, name: string, children: readonly UnityType[]): UnityType {
  return { type, name, byteSize: -1, aligned: false, children };
}

/** A list; the name of the element is usually `data`. */
export function list(name: string, element: UnityType, type = 'vector'): UnityType {
  return object(type, name, [{ ...object('Array', 'Array', [leaf('int', 'size'), element]), aligned: true }]);
}

/** A string. */
export function text(name: string): UnityType {
  const characters = object('Array', 'Array', [leaf('int', 'size'), leaf('char', 'data')]);
  return object('string', name, [{ ...characters, aligned: true }]);
}

/** Bytes without a meaning for the engine. */
export function typelessData(name: string): UnityType {
  return { ...object('TypelessData', name, [leaf('int', 'size'), leaf('UInt8', 'data')]), aligned: true };
}

/** A reference to another object: `{ m_FileID, m_PathID }`. */
export function reference(type: string, name: string): UnityType {
  return object(`PPtr<${type}>`, name, [leaf('int', 'm_FileID'), leaf('SInt64', 'm_PathID')]);
}

/** The fields of a TextAsset. */
export const TEXT_ASSET_TYPE: UnityType = object('TextAsset', 'Base', [text('m_Name'), text('m_Script')]);

/** The fields of a MonoBehaviour: those of all, then those of its script. */
export function monoBehaviour(fields: readonly UnityType[]): UnityType {
  return object('MonoBehaviour', 'Base', [
    reference('GameObject', 'm_GameObject'),
    leaf('UInt8', 'm_Enabled', true),
    reference('MonoScript', 'm_Script'),
    text('m_Name'),
    ...fields,
  ]);
}

/** The fields of a MonoScript, which names the C# class of MonoBehaviours. */
export const MONO_SCRIPT_TYPE: UnityType = object('MonoScript', 'Base', [
  text('m_Name'),
  leaf('int', 'm_ExecutionOrder'),
  object(
    'Hash128',
    'm_PropertiesHash',
    Array.from({ length: 16 }, (_, index) => leaf('UInt8', `bytes[${index}]`)),
  ),
  text('m_ClassName'),
  text('m_Namespace'),
  text('m_AssemblyName'),
]);

const REFERENCE_TYPE: readonly UnityType[] = [
  object('ReferencedManagedType', 'type', [text('class'), text('ns'), text('asm')]),
  object('ReferencedObjectData', 'data', []),
];

/** The registry of managed references. */
export const REGISTRY_TYPE: UnityType = object('ManagedReferencesRegistry', 'references', [
  leaf('int', 'version'),
  list('RefIds', object('ReferencedObject', 'data', [leaf('SInt64', 'rid'), ...REFERENCE_TYPE])),
]);

/** The registry of version 1, whose references have no ids and no count. */
export const FIRST_REGISTRY_TYPE: UnityType = object('ManagedReferencesRegistry', 'references', [
  leaf('int', 'version'),
  object('ReferencedObject', '00000000', REFERENCE_TYPE),
]);
