import type { DialogRow } from '../dialog-row.ts';
import { leaf, list, monoBehaviour, object, text, type UnityType } from './unity-type.ts';
import type { UnityObject } from './write-serialized-file.ts';

const DIALOG_SCENE_TYPE: UnityType = monoBehaviour([
  text('SceneId'),
  list(
    'Lines',
    object('DialogLine', 'data', [text('Speaker'), text('Text'), text('Voice'), leaf('float', 'Seconds')]),
  ),
]);

const SCRIPT_HASH = Buffer.from('3b7c5f0e9a1d4c62b8e0f4a7d6c91523', 'hex');

/** A scene as a MonoBehaviour: a list of lines without ids, which only their index tells apart. */
export function dialogScene(name: string, pathId: bigint, rows: readonly DialogRow[]): UnityObject {
  return {
    pathId,
    classId: 114,
    scriptHash: SCRIPT_HASH,
    type: DIALOG_SCENE_TYPE,
    value: {
      m_GameObject: { m_FileID: 0, m_PathID: 0n },
      m_Enabled: 1,
      m_Script: { m_FileID: 1, m_PathID: 11_500_000n },
      m_Name: name,
      SceneId: name,
      Lines: rows.map(({ speaker, text }, index) => ({
        Speaker: speaker,
        Text: text,
        Voice: `${name}_${String(index).padStart(3, '0')}`,
        Seconds: 1.5 + (index % 4) * 0.25,
      })),
    },
  };
}
