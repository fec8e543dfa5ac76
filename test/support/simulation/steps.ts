import { chmodSync, rmSync, statSync, truncateSync } from 'node:fs';
import { createRandom, type Random } from '../../../demo/game/seeded-random.ts';
import { LOCALIZED_FAILPOINTS, ROLLBACK_FAILPOINTS } from '../../../src/localization/localized/channel.ts';
import { RELEASE_FAILPOINTS } from '../../../src/releases/jobs/release-failpoints.ts';
import { SNAPSHOT_FAILPOINTS } from '../../../src/snapshot/volume/snapshot-failpoints.ts';
import { contentFiles, copyStore, fillDisk, rot, mountOther, restoreStore } from './disk-faults.ts';
import type { Site } from './site.ts';
import { sourceText, textFile, TEXT_FILES, textsIn } from './text-files.ts';
import type { World } from './world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const FAILPOINTS = [...RELEASE_FAILPOINTS, ...SNAPSHOT_FAILPOINTS];
const LOCALIZED = [...LOCALIZED_FAILPOINTS, ...ROLLBACK_FAILPOINTS, ...RELEASE_FAILPOINTS];
const MAX_FILES = 8;
const MAX_FILE_BYTES = 200_000;

/**
 * One step of a run. Its numbers choose among what the world has when it is played, so that it still means something when
 * steps before it are left out.
 */
export interface Step {
  readonly kind: StepKind;
  readonly numbers: readonly [number, number, number];
}

export type StepKind = keyof typeof STEPS;

/** What a step does, and how often it is drawn beside the others. */
interface StepDefinition {
  readonly weight: number;
  readonly play: (world: World, numbers: Step['numbers']) => Promise<void>;
}

/** Every kind of step. */
export const STEPS = {
  /** Upstream has a new release, and the origin copies it. */
  release: {
    weight: 6,
    play: async (world, [seed]) => {
      await world.publishUpstream(changeFiles(world, createRandom(seed + 1)));
      await world.calls.post('sync');
    },
  },
  /** Upstream has a new release that the origin finds by its schedule. */
  'release unseen': {
    weight: 2,
    play: async (world, [seed]) => await world.publishUpstream(changeFiles(world, createRandom(seed + 1))),
  },
  sync: { weight: 2, play: async (world) => await world.calls.post('sync') },
  verify: { weight: 2, play: async (world) => await world.calls.post('verify') },
  repair: { weight: 2, play: async (world) => await world.calls.post('repair') },
  cleanup: { weight: 1, play: async (world) => await world.calls.post('release-cleanup') },
  refresh: { weight: 1, play: async (world) => await world.calls.post('refresh') },
  /** A call is repeated with its key, as by a client that did not see the answer. */
  repeat: { weight: 2, play: async (world, [pick]) => await world.calls.repeat(pick) },
  wait: { weight: 3, play: async (world, [pick]) => await world.pass(((1 + (pick % 3)) * MINUTE_MS) / 2) },
  /** A disk changes one bit; the file keeps its times. */
  'bit rot': {
    weight: 4,
    play: async (world, [pick, place, bit]) => {
      const file = fileToDamage(world, pick, place);
      if (file !== null) await rot(file, place, bit);
    },
  },
  truncate: {
    weight: 1,
    play: async (world, [pick, place]) => {
      const file = fileToDamage(world, pick, place);
      if (file === null) return;
      chmodSync(file, 0o644);
      truncateSync(file, place % (statSync(file).size + 1));
    },
  },
  'delete a file': {
    weight: 1,
    play: async (world, [pick, place]) => {
      const file = fileToDamage(world, pick, place);
      if (file !== null) rmSync(file);
    },
  },
  /** A translator accepts new translations of a file. */
  translate: { weight: 5, play: async (world, [pick]) => void (await world.translator.translate(pick)) },
  publish: { weight: 4, play: async (world) => await world.translator.publish() },
  'roll back': { weight: 1, play: async (world) => await world.translator.rollBack() },
  'run the provider': { weight: 2, play: async (world) => await world.translator.runProvider() },
  /** The provider of translations fails in one of several ways, or works again. */
  'provider outage': {
    weight: 1,
    play: async (world, [pick]) => {
      world.provider.fail(pick);
      await world.translator.runProvider();
    },
  },
  /** The databases of the translators are those of the newest backup again. */
  'restore a backup': { weight: 1, play: async (world) => await world.translator.restore() },
  /** The daemon of the origin is killed inside of a publish or a rollback. */
  'kill a publish': {
    weight: 3,
    play: async (world, [pick, times, job]) => {
      await world.translator.translate(pick);
      world.origin.daemon.killAt(LOCALIZED[pick % LOCALIZED.length] ?? '', 1 + (times % 2));
      if (job % 3 === 0) await world.translator.rollBack();
      else await world.translator.publish();
      await world.quiet();
      await world.pass(MINUTE_MS / 4);
    },
  },
  /** A server does not reach its daemon, or reaches it again. */
  'cut the daemon off': {
    weight: 1,
    play: async (world, [pick]) => {
      const { link } = siteOf(world, pick);
      if (link.isCut) link.connect();
      else link.cut();
      world.expectFaults();
    },
  },
  /** The daemon is killed inside of the next write. */
  kill: {
    weight: 6,
    play: async (world, [pick, seed, times]) => {
      const site = siteOf(world, pick);
      site.daemon.killAt(FAILPOINTS[seed % FAILPOINTS.length] ?? '', 1 + (times % 4));
      await world.publishUpstream(changeFiles(world, createRandom(seed + 1)));
      await world.calls.post('sync');
      await world.quiet();
      await world.pass(MINUTE_MS / 4);
    },
  },
  'restart the daemon': {
    weight: 2,
    play: async (world, [pick]) => {
      const site = siteOf(world, pick);
      await site.daemon.stop();
      await site.daemon.start();
    },
  },
  'restart the server': {
    weight: 2,
    play: async (world, [pick]) => {
      const site = siteOf(world, pick);
      await site.server.stop();
      await site.server.start();
    },
  },
  /** The daemon is away for a while. */
  'daemon away': {
    weight: 1,
    play: async (world, [pick, minutes]) => {
      const site = siteOf(world, pick);
      await site.daemon.stop();
      await world.pass(((1 + (minutes % 3)) * MINUTE_MS) / 2);
      await world.check();
      await site.daemon.start();
    },
  },
  'clock jumps': {
    weight: 1,
    play: async (world, [pick, amount, sign]) => {
      const site = siteOf(world, pick);
      world.expectFaults();
      world.setClock(
        site,
        site.clock.now() + (HOUR_MS + (amount % (2 * DAY_MS))) * (sign % 2 === 0 ? 1 : -1),
      );
    },
  },
  /** The edge does not reach the origin, or reaches it again. */
  partition: {
    weight: 2,
    play: async (world) => {
      const { front } = world.origin.server;
      if (front.isCut) front.connect();
      else front.cut();
      world.expectFaults();
    },
  },
  'rotate keys': { weight: 1, play: async (world) => await world.rotateKeys() },
  /** Another volume is mounted in place of that of a site. */
  'mount another volume': {
    weight: 2,
    play: async (world, [pick, other, restart]) => {
      const site = siteOf(world, pick);
      world.expectFaults();
      mountOther(site, siteOf(world, other));
      if (restart % 2 === 0) return;
      await site.daemon.stop();
      await site.daemon.start();
    },
  },
  'copy the store': { weight: 1, play: async (world, [pick]) => copyStore(siteOf(world, pick)) },
  /** A store has the content of its copy again, and nothing knows of it. */
  'restore the store': {
    weight: 1,
    play: async (world, [pick]) => {
      const site = siteOf(world, pick);
      world.expectFaults();
      await site.stop();
      restoreStore(site);
      await site.start();
    },
  },
  'volume full': {
    weight: 1,
    play: async (world, [pick]) => {
      world.expectFaults();
      fillDisk(siteOf(world, pick));
    },
  },
  /** Every fault ends; then the newest release must be served everywhere. */
  heal: { weight: 2, play: async (world) => await world.heal() },
} as const satisfies Readonly<Record<string, StepDefinition>>;

const DRAWN = Object.entries(STEPS).flatMap(([kind, { weight }]) =>
  Array.from({ length: weight }, () => kind as StepKind),
);

/** The last step of every run. */
export const HEAL: Step = { kind: 'heal', numbers: [0, 0, 0] };

/** Draws the steps of a run; the last one heals. */
export function drawSteps(random: Random, count: number): Step[] {
  const steps = Array.from({ length: count - 1 }, (): Step => {
    const number = (): number => random.below(2 ** 31);
    return { kind: random.pick(DRAWN), numbers: [number(), number(), number()] };
  });
  return [...steps, HEAL];
}

function siteOf(world: World, pick: number): Site {
  return pick % 3 === 0 ? world.edge : world.origin;
}

/** A file of a store; `null` when it has none. */
function fileToDamage(world: World, pick: number, place: number): string | null {
  const files = contentFiles(siteOf(world, pick));
  world.expectFaults();
  return files[place % files.length] ?? null;
}

/** The files of the newest release, with one to three of them changed, added or removed. */
function changeFiles(world: World, random: Random): Map<string, Buffer> {
  const files = new Map(world.releases.get(world.latest));
  for (let change = 1 + random.below(3); change > 0; change -= 1) {
    const name = `files/${random.below(MAX_FILES)}.bin`;
    if (random.below(3) === 0) changeText(files, random);
    else if (files.has(name) && files.size > TEXT_FILES.length + 1 && random.below(4) === 0)
      files.delete(name);
    else files.set(name, random.bytes(random.below(MAX_FILE_BYTES)));
  }
  return files;
}

/** Gives one line of a file with text another text. */
function changeText(files: Map<string, Buffer>, random: Random): void {
  const name = random.pick(TEXT_FILES);
  const texts = textsIn(files.get(name) ?? Buffer.from('[]'));
  files.set(name, textFile(texts.with(random.below(texts.length), sourceText(100 + random.below(2 ** 31)))));
}
