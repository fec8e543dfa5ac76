import type { ContainerPatcher } from '../../src/localization/localized/patch/container-patcher.ts';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Freezer } from '../../src/localization/localized/freeze/freezer.ts';
import type { FrozenContainer } from '../../src/localization/localized/freeze/frozen-release.ts';
import type { PatchOutcome } from '../../src/localization/localized/patch/patch-file.ts';
import type { Builders } from '../../src/localization/localized/channel.ts';
import { noOutcomes } from '../../src/domain/translation/publish-outcome.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';

/** Translations of the official files of the world, and how their patching goes. */
export interface ScriptedTexts {
  /** Target by source, by destination. */
  translations: Record<string, Record<string, string>>;
  /** The text of the official files. */
  official: Record<string, string>;
  blockedUnits: number;
  untranslatedUnits: number;
  /** Units that the release before has and the next one loses. */
  lostUnits: number;
  /** How the patching of these destinations fails. */
  readonly failures: Map<string, Extract<PatchOutcome, { kind: 'failed' }>>;
  /** Makes the volume full for the patcher. */
  isFull: boolean;
  /** Patchers that were opened, and those of them that are not closed. */
  readonly patchers: { opened: number; open: number };
  /** The containers that were patched, in their order. */
  readonly patched: string[];
  /** A catalog with the size of every file in lines, which is rewritten; `null`: there is none. */
  catalog: string | null;
  /** How the next rewriting fails; `null`: it does not. */
  catalogError: Error | null;
  /** Whether the last rewriting had to keep changed catalogs. */
  keepsChanged: boolean;
  /** Whether index or tasks are being built. */
  isPreparing: boolean;
  /** How putting units on hold fails; `null`: it does not. */
  holdError: Error | null;
  /** How comparing the texts of two releases fails; `null`: it does not. */
  compareError: Error | null;
  /** Called while texts are frozen. */
  onFreeze: () => Promise<void>;
}

/** Makes texts without translations. */
export function createScriptedTexts(): ScriptedTexts {
  return {
    translations: {},
    official: {},
    blockedUnits: 0,
    untranslatedUnits: 0,
    lostUnits: 0,
    failures: new Map(),
    isFull: false,
    patchers: { opened: 0, open: 0 },
    patched: [],
    catalog: null,
    catalogError: null,
    keepsChanged: false,
    isPreparing: false,
    holdError: null,
    compareError: null,
    onFreeze: async () => undefined,
  };
}

/** A freezer that takes the scripted translations. */
export function scriptedFreezer(texts: ScriptedTexts, calls: unknown[]): Freezer {
  const recorded = new Map<string, string>();
  const keysOf = (containers: readonly FrozenContainer[]): string =>
    containers.map(({ patchKey }) => patchKey).join();
  return {
    freeze: async ({ baseReleaseId, translationFile, policy, workDirectory }) => {
      await texts.onFreeze();
      const containers: FrozenContainer[] = [];
      await mkdir(workDirectory, { recursive: true });
      for (const [destination, targets] of Object.entries(texts.translations)) {
        const edits = Object.entries(targets).map(([source, target], index) => ({
          unitId: `tu1_${index}`,
          archiveEntry: null,
          pathId: null,
          fieldPath: String(index),
          source,
          target,
        }));
        const lines = edits.map((edit) => `${JSON.stringify(edit)}\n`).join('');
        const editsPath = join(workDirectory, `${containers.length}.jsonl`);
        await writeFile(editsPath, lines);
        const official = Buffer.from(texts.official[destination] ?? '');
        const blake3 = blake3Hex(official);
        containers.push({
          destination,
          official: { blake3, size: official.length },
          editsPath,
          edits: edits.length,
          patchKey: blake3Hex(Buffer.from(blake3 + lines)),
        });
      }
      calls.push({
        frozen: baseReleaseId,
        translationFile,
        minState: policy.minState,
        include: policy.include,
      });
      const published = containers.reduce((sum, { edits }) => sum + edits, 0);
      return {
        baseReleaseId,
        generation: 1,
        containers,
        counts: {
          ...noOutcomes(),
          published,
          blocked: texts.blockedUnits,
          untranslated: texts.untranslatedUnits,
        },
        excludedUnits: 0,
        destinations: [],
        blocked: [],
        lostUnits: texts.lostUnits,
        translationFileSha256: translationFile === null ? null : 'f'.repeat(64),
      };
    },
    changesFrom: async () => await Promise.resolve(null),
    isRecordedAs: async ({ containers }, releaseId) => recorded.get(releaseId) === keysOf(containers),
    record: async ({ containers }, releaseId) => {
      calls.push({ recorded: releaseId });
      recorded.set(releaseId, keysOf(containers));
    },
  };
}

/** Programs that replace texts in plain files. */
export function textBuilders(texts: ScriptedTexts): Builders {
  return {
    concurrency: 2,
    patcher: scriptedPatcher(texts),
    rewriter: {
      prepare: () => undefined,
      close: () => undefined,
      rewrite: async (changed, release, workDirectory, _signal, options) => {
        const { catalog, catalogError } = texts;
        texts.keepsChanged = options?.keepsChanged ?? false;
        texts.catalogError = null;
        if (catalogError !== null) throw catalogError;
        const files = changed.map(({ destination, patched: path }) => ({ destination, path }));
        if (catalog === null || changed.length === 0) return files;
        const paths = new Map(files.map((file) => [file.destination, file.path]));
        const lines: string[] = [];
        for await (const { destination, blake3 } of release.entries()) {
          if (destination === catalog) continue;
          const { size } = await stat(paths.get(destination) ?? release.officialPath(blake3));
          lines.push(`${destination} ${size}\n`);
        }
        const path = join(workDirectory, 'catalog');
        await writeFile(path, lines.join(''));
        return [...files, { destination: catalog, path }];
      },
    },
  };
}

function scriptedPatcher(texts: ScriptedTexts): ContainerPatcher {
  let isOpen = false;
  return {
    prepare: () => {
      isOpen = true;
      texts.patchers.opened += 1;
      texts.patchers.open += 1;
    },
    close: () => {
      if (isOpen) texts.patchers.open -= 1;
      isOpen = false;
    },
    patch: async ({ destination, path, editsPath, outputPath }) => {
      const failure = texts.failures.get(destination);
      if (failure !== undefined) return failure;
      if (texts.isFull) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
      texts.patched.push(destination);
      let text = await readFile(path, 'utf8');
      const lines = (await readFile(editsPath, 'utf8')).trimEnd().split('\n');
      for (const line of lines) {
        const { source, target } = JSON.parse(line) as { source: string; target: string };
        text = text.replace(source, target);
      }
      await writeFile(outputPath, text);
      return {
        kind: 'patched',
        size: Buffer.byteLength(text),
        checked: { editedUnits: lines.length, otherUnits: 1, untouchedParts: 0 },
      };
    },
  };
}
