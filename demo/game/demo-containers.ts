import { writeFile } from 'node:fs/promises';
import { demoBundles, innerBundle, type NamedBundle } from './demo-bundles.ts';
import { demoStory, type DemoReleaseId, type DemoStory } from './demo-story.ts';
import { writeZip } from './demo-zip.ts';
import type { DialogRow } from './dialog-row.ts';
import { flatBuffersTable } from './flatbuffers-table.ts';
import { csvTable, jsonRows, jsonScene } from './text-tables.ts';
import { writeSqliteTable } from './sqlite-table.ts';

/** A file of a demo release that holds text. */
interface DemoContainer {
  readonly destination: string;
  /** The scenes and tables in it; {@link DemoStory.scripts} has their lines. */
  readonly scripts: readonly string[];
  /** @param path a file that does not exist yet, in a folder that does */
  readonly write: (path: string) => Promise<void>;
}

/** The files with text of a release. */
export function demoContainers(releaseId: DemoReleaseId): DemoContainer[] {
  const story = demoStory(releaseId);
  return [
    ...[...story.scripts].flatMap(([script, lines]) => textFile(script, lines) ?? []),
    ...archives(story),
    ...demoBundles(story).map(({ name, bytes, scripts }) => ({
      destination: `Windows_PatchPack/${name}`,
      scripts,
      write: async (path: string) => {
        await writeFile(path, bytes);
      },
    })),
  ];
}

/** The file of a script that has one of its own; else `null`. */
function textFile(script: string, lines: readonly DialogRow[]): DemoContainer | null {
  const [kind, number = ''] = script.split('/');
  const file = (destination: string, write: DemoContainer['write']): DemoContainer => ({
    destination,
    scripts: [script],
    write,
  });
  const bytes = (destination: string, content: string | Uint8Array): DemoContainer =>
    file(destination, async (path) => {
      await writeFile(path, content);
    });
  switch (kind) {
    case 'scene':
      return bytes(`Scenario/Scene${number}.json`, jsonScene(`Scene${number}`, lines));
    case 'table':
      return bytes(`TableBundles/Localize${number}.csv`, csvTable(lines));
    case 'dialog':
      return bytes('TableBundles/DialogTable.bytes', flatBuffersTable(lines));
    case 'database':
      return file('TableBundles/ExcelDB.db', async (path) => {
        await writeSqliteTable(path, lines);
      });
    default:
      return null;
  }
}

/** The archives of tables. The first one also holds a bundle. */
function archives(story: DemoStory): DemoContainer[] {
  const scripts = [...story.scripts.keys()].filter((script) => script.startsWith('archive/'));
  return [...Map.groupBy(scripts, (script) => script.split('/')[1] ?? '')].map(([number, tables]) => {
    const bundle = number === '00' ? innerBundle(story) : null;
    return {
      destination: `TableBundles/Excel${number}.zip`,
      scripts: [...tables, ...(bundle?.scripts ?? [])],
      write: async (path) => {
        await writeArchive(path, tables, story, bundle);
      },
    };
  });
}

async function writeArchive(
  path: string,
  tables: readonly string[],
  { scripts }: DemoStory,
  bundle: NamedBundle | null,
): Promise<void> {
  const files = tables.map((table) => ({
    name: `table${table.split('/')[2] ?? ''}.json`,
    bytes: Buffer.from(jsonRows(scripts.get(table) ?? [])),
  }));
  const bundles = bundle === null ? [] : [{ name: `bundles/${bundle.name}`, bytes: bundle.bytes }];
  await writeFile(path, await writeZip([...files, ...bundles]));
}
