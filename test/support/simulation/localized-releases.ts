import { isDeepStrictEqual } from 'node:util';
import type { Random } from '../../../demo/game/seeded-random.ts';
import type { ReleaseFiles } from '../release-tree.ts';
import { checkRange, checkWhole } from './check-bytes.ts';
import { CDN_HOST } from './simulated-server.ts';
import type { Site } from './site.ts';
import { TEXT_FILES, textFile, textsIn } from './text-files.ts';

/** How many of the newest requests to publish can still have an effect. */
const CANDIDATES = 20;

/** What a publish may put in place of each source text; a text that is not in it stays as it is. */
export type Allowed = ReadonlyMap<string, ReadonlySet<string>>;

/** The localized releases that clients saw. Each must have the texts of one publish, whole, and stay as it is. */
export class LocalizedReleases {
  readonly #official: ReadonlyMap<string, ReleaseFiles>;
  readonly #seen = new Map<string, ReleaseFiles>();
  #candidates: readonly Allowed[] = [];

  constructor(official: ReadonlyMap<string, ReleaseFiles>) {
    this.#official = official;
  }

  /** A publish was requested, with these texts. */
  expect(allowed: Allowed): void {
    this.#candidates = [...this.#candidates, allowed].slice(-CANDIDATES);
  }

  /** Checks the localized release that a site serves. @throws Error */
  async check(site: Site, random: Random): Promise<void> {
    const verdict = (await site.server.health())?.verdicts.localized;
    const id = verdict?.release_id ?? null;
    if (id === null || verdict?.distributable !== true) return;
    const files = this.#seen.get(id) ?? (await this.#see(site, id));
    for (const [destination, expected] of files)
      await checkWhole(site, { releaseId: id, destination, expected }, false);
    const [destination, expected] = random.pick([...files]) ?? [];
    if (destination !== undefined && expected !== undefined)
      await checkRange(site, { releaseId: id, destination, expected }, random);
  }

  /** Sees a release for the first time. @returns its files as far as they are known */
  async #see(site: Site, id: string): Promise<ReleaseFiles> {
    const official = this.#official.get(baseOf(id));
    if (official === undefined) throw new Error(`${site.folder}: ${id} is made of no release`);
    const answers = await Promise.all(
      TEXT_FILES.map(async (name) => await site.server.get(`/${CDN_HOST}/${id}/${name}`)),
    );
    const others = new Map([...official].filter(([name]) => !TEXT_FILES.includes(name)));
    // Damage withholds a file; what is in it is seen later.
    if (answers.some((answer) => answer?.status !== 200)) return others;
    const bodies = answers.map((answer) => answer?.body ?? Buffer.alloc(0));
    const sources = TEXT_FILES.map((name) => textsIn(official.get(name) ?? Buffer.from('[]')));
    const isOf = (allowed: Allowed): boolean =>
      bodies.every((body, at) => {
        const texts = textsIn(body);
        return (
          body.equals(textFile(texts)) &&
          isDeepStrictEqual(
            texts.map((text, line) => isAllowed(allowed, sources[at]?.[line] ?? '', text)),
            (sources[at] ?? []).map(() => true),
          )
        );
      });
    if (!this.#candidates.some(isOf))
      throw new Error(
        `${site.folder}: ${id} has the texts of no publish: ${bodies.map((body) => body.toString()).join(' ')}`,
      );
    const files = new Map([
      ...others,
      ...TEXT_FILES.map((name, at) => [name, bodies[at] ?? Buffer.alloc(0)] as const),
    ]);
    this.#seen.set(id, files);
    return files;
  }
}

/** The official release that a localized one is made of. */
export function baseOf(id: string): string {
  return id.replace(/-l\d+$/, '');
}

function isAllowed(allowed: Allowed, source: string, text: string): boolean {
  return allowed.get(source)?.has(text) ?? text === source;
}
