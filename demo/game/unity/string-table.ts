import {
  leaf,
  list,
  monoBehaviour,
  object,
  reference,
  REGISTRY_TYPE,
  text,
  type UnityType,
  type UnityValue,
} from './unity-type.ts';
import type { UnityObject } from './write-serialized-file.ts';

interface StringTableRow {
  readonly id: bigint;
  readonly text: string;
}

const METADATA_TYPE = object('MetadataCollection', 'm_Metadata', [
  list('m_Items', object('managedReference', 'data', [leaf('SInt64', 'rid')])),
]);

/** The fields of a string table of Unity Localization. */
export const STRING_TABLE_TYPE: UnityType = monoBehaviour([
  object('LocaleIdentifier', 'm_LocaleId', [text('m_Code')]),
  reference('SharedTableData', 'm_SharedData'),
  METADATA_TYPE,
  list(
    'm_TableData',
    object('TableEntryData', 'data', [leaf('SInt64', 'm_Id'), text('m_Localized'), METADATA_TYPE]),
  ),
  REGISTRY_TYPE,
]);

const SCRIPT_HASH = Buffer.from('8d1f2b0c64f04b4f9a8e35d7c2e60117', 'hex');
const NOTHING: UnityValue = { m_FileID: 0, m_PathID: 0n };
const NO_METADATA: UnityValue = { m_Items: [] };

/** A string table as Unity Localization stores it, with an empty registry of managed references. */
export function stringTable(
  name: string,
  locale: string,
  pathId: bigint,
  rows: readonly StringTableRow[],
): UnityObject {
  return {
    pathId,
    classId: 114,
    scriptHash: SCRIPT_HASH,
    type: STRING_TABLE_TYPE,
    value: {
      m_GameObject: NOTHING,
      m_Enabled: 1,
      m_Script: { m_FileID: 1, m_PathID: 11_500_000n },
      m_Name: name,
      m_LocaleId: { m_Code: locale },
      m_SharedData: NOTHING,
      m_Metadata: NO_METADATA,
      m_TableData: rows.map(({ id, text }) => ({ m_Id: id, m_Localized: text, m_Metadata: NO_METADATA })),
      references: { version: 2, RefIds: [] },
    },
  };
}
