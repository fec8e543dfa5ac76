import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { DemoStory } from './demo-story.ts';
import { csvTable, jsonRows } from './text-tables.ts';
import { dialogScene } from './unity/dialog-scene.ts';
import { stringTable } from './unity/string-table.ts';
import { TEXT_ASSET_TYPE } from './unity/unity-type.ts';
import { writeBundle, type BundleOptions } from './unity/write-bundle.ts';
import { writeSerializedFile, type UnityObject } from './unity/write-serialized-file.ts';

/** A Unity bundle that is named as Addressables names it: with a hash of its bytes. */
export interface NamedBundle {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** CRC-32 of its content before compression, which catalogs state. */
  readonly contentCrc: number;
  /** The scenes and tables in it. */
  readonly scripts: readonly string[];
}

/** Path ids use all 64 bits, as in real bundles. */
const FIRST_PATH_ID = -6_917_529_027_641_081_856n;
const REBUILT_ENGINE = '2022.3.62f1';

/** The bundles of a release: one for each chapter of the story, a string table, and one of text assets. */
export function demoBundles(story: DemoStory): NamedBundle[] {
  const scenes = [...story.scripts.keys()].filter((script) => script.startsWith('chapter/'));
  const chapters = Map.groupBy(scenes, (script) => script.split('/')[1] ?? '');
  return [
    ...[...chapters].map(([chapter, scripts]) => chapterBundle(story, chapter, scripts)),
    named('localization-string-tables-japanese(ja)_assets_all', ['strings'], [stringsObject(story)], {
      compression: 'lzma',
    }),
    textAssetBundle(story),
  ];
}

/** The bundle that is inside of an archive. */
export function innerBundle({ scripts }: DemoStory): NamedBundle {
  const rows = jsonRows(scripts.get('inner') ?? []);
  return named('momotalk_assets_all', ['inner'], [textAsset(0n, 'MomoTalk', rows)], { compression: 'none' });
}

function chapterBundle(story: DemoStory, chapter: string, scripts: readonly string[]): NamedBundle {
  const objects = scripts.map((script, scene) =>
    dialogScene(
      `Chapter${chapter}_Scene${scene}`,
      FIRST_PATH_ID + BigInt(scene),
      story.scripts.get(script) ?? [],
    ),
  );
  const options: BundleOptions = story.rebuilt.has(`chapter/${chapter}`)
    ? { compression: 'lz4', engineVersion: REBUILT_ENGINE, paddedStart: true }
    : { compression: 'lz4' };
  return named(`scenario-chapter${chapter}_assets_all`, scripts, objects, options);
}

function stringsObject({ scripts }: DemoStory): UnityObject {
  return stringTable('Ui_ja', 'ja', FIRST_PATH_ID, scripts.get('strings') ?? []);
}

function textAssetBundle({ scripts }: DemoStory): NamedBundle {
  const linesOf = (script: string): readonly string[] => (scripts.get(script) ?? []).map(({ text }) => text);
  return named(
    'textassets_assets_all',
    ['notes/list', 'notes/table', 'notes/text'],
    [
      textAsset(0n, 'LoadingTips', JSON.stringify(linesOf('notes/list'))),
      textAsset(1n, 'Notices', csvTable(scripts.get('notes/table') ?? [])),
      textAsset(2n, 'Greeting', linesOf('notes/text').join('\n')),
    ],
    { compression: 'lz4hc' },
  );
}

function textAsset(number: bigint, name: string, script: string): UnityObject {
  return {
    pathId: FIRST_PATH_ID + number,
    classId: 49,
    type: TEXT_ASSET_TYPE,
    value: { m_Name: name, m_Script: script },
  };
}

function named(
  name: string,
  scripts: readonly string[],
  objects: readonly UnityObject[],
  options: BundleOptions,
): NamedBundle {
  const file = `CAB-${createHash('md5').update(name).digest('hex')}`;
  const content = writeSerializedFile({ version: 22, objects });
  const bytes = writeBundle([{ name: file, bytes: content }], options);
  const hash = createHash('md5').update(bytes).digest('hex');
  return { name: `${name}_${hash}.bundle`, bytes, contentCrc: crc32(content), scripts };
}
