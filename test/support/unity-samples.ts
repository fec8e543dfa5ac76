import { stringTable } from '../../demo/game/unity/string-table.ts';
import {
  leaf,
  list,
  MONO_SCRIPT_TYPE,
  monoBehaviour,
  object,
  TEXT_ASSET_TYPE,
  text,
  typelessData,
  type UnityType,
  type UnityValue,
} from '../../demo/game/unity/unity-type.ts';
import type { UnityObject } from '../../demo/game/unity/write-serialized-file.ts';

/** Beyond 2^53, as Unity assigns them. */
export const LARGE_PATH_ID = -9_180_874_206_900_030_759n;
const NOTHING: UnityValue = { m_FileID: 0, m_PathID: 0n };

/** A MonoBehaviour with some fields of its script. */
export function sampleBehaviour(
  pathId: bigint,
  name: string,
  fields: readonly UnityType[],
  value: Readonly<Record<string, UnityValue>>,
  script: UnityValue = { m_FileID: 1, m_PathID: 7n },
): UnityObject {
  return {
    pathId,
    classId: 114,
    scriptHash: Buffer.alloc(16, fields.length),
    type: monoBehaviour(fields),
    value: { m_GameObject: NOTHING, m_Enabled: 1, m_Script: script, m_Name: name, ...value },
  };
}

export function sampleTextAsset(pathId: bigint, name: string, script: string | Uint8Array): UnityObject {
  return { pathId, classId: 49, type: TEXT_ASSET_TYPE, value: { m_Name: name, m_Script: script } };
}

export function sampleScript(pathId: bigint, namespace: string, className: string): UnityObject {
  const bytes = Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`bytes[${index}]`, index]));
  return {
    pathId,
    classId: 115,
    type: MONO_SCRIPT_TYPE,
    value: {
      m_Name: className,
      m_ExecutionOrder: 0,
      m_PropertiesHash: bytes,
      m_ClassName: className,
      m_Namespace: namespace,
      m_AssemblyName: 'Game',
    },
  };
}

/** Fields of every kind that the reader knows. */
export const DIALOG_FIELDS: readonly UnityType[] = [
  leaf('bool', 'isLocked', true),
  leaf('UInt16', 'weight', true),
  leaf('float', 'speed'),
  leaf('double', 'duration'),
  leaf('SInt64', 'id'),
  leaf('UInt64', 'mask'),
  { ...leaf('Color', 'color'), byteSize: 16 },
  object('Nothing', 'nothing', []),
  list('numbers', leaf('int', 'data')),
  list('flags', leaf('UInt8', 'data')),
  list('spans', object('Span', 'data', [leaf('UInt8', 'kind', true), leaf('int', 'end')])),
  list('groups', list('data', leaf('int', 'data'))),
  typelessData('raw'),
  list('tags', text('data')),
  list(
    'lines',
    object('Line', 'data', [
      leaf('SInt64', 'Id'),
      text('speaker'),
      text('text'),
      list('choices', text('data')),
    ]),
  ),
  list('named', object('pair', 'data', [text('first'), text('second')]), 'map'),
];

export const DIALOG_VALUE: Readonly<Record<string, UnityValue>> = {
  isLocked: true,
  weight: 65_535,
  speed: 0.5,
  duration: 2.25,
  id: -9_223_372_036_854_775_808n,
  mask: 18_446_744_073_709_551_615n,
  color: 0,
  nothing: {},
  numbers: [1, 2, 3],
  flags: new Uint8Array([1, 2, 3, 4, 5]),
  spans: [
    { kind: 1, end: 10 },
    { kind: 2, end: 20 },
  ],
  groups: [[1], [], [2, 3]],
  raw: new Uint8Array([9, 8, 7]),
  tags: ['出会い', ''],
  lines: [
    {
      Id: 9_007_199_254_740_993n,
      speaker: 'アロナ',
      text: '先生、おはようございます。',
      choices: ['はい', 'いいえ'],
    },
    { Id: 2n, speaker: '', text: 'ASCII only', choices: [] },
  ],
  named: [{ first: 'title', second: '夜明け' }],
};

/** The texts of {@link DIALOG_VALUE} by their paths, behind `m_Name`. */
export const DIALOG_TEXTS: readonly (readonly [string, string])[] = [
  ['tags[0]', '出会い'],
  ['tags[1]', ''],
  ['lines[0].speaker', 'アロナ'],
  ['lines[0].text', '先生、おはようございます。'],
  ['lines[0].choices[0]', 'はい'],
  ['lines[0].choices[1]', 'いいえ'],
  ['lines[1].speaker', ''],
  ['lines[1].text', 'ASCII only'],
  ['named[0].first', 'title'],
  ['named[0].second', '夜明け'],
];

/** Objects of every kind. */
export function sampleObjects(): UnityObject[] {
  return [
    sampleBehaviour(LARGE_PATH_ID, 'Dialog', DIALOG_FIELDS, DIALOG_VALUE),
    sampleTextAsset(2n, 'story', '{"text":"物語"}\n'),
    sampleScript(3n, 'Game.Text', 'Dialog'),
    stringTable('Table_ja', 'ja', 4n, [
      { id: 1n, text: 'こんにちは' },
      { id: 9_007_199_254_740_995n, text: '{0}個の石' },
    ]),
  ];
}
