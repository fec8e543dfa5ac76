import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runRestore } from '../../../src/daemon/backup/restore/run-restore.ts';
import type { LocalizedReleases } from './localized-releases.ts';
import type { Site } from './site.ts';
import { targetText, TEXT_FILES } from './text-files.ts';

interface Unit {
  readonly unit_id: string;
  readonly source_text: string;
  readonly translation: {
    readonly task_id: string | null;
    readonly state: string;
    readonly target_text: string | null;
  } | null;
}

interface TranslationTask {
  readonly task_id: string;
  readonly release_id: string;
}

/** What is known of the target of a source text. */
interface Known {
  /** The target that was accepted and acknowledged; `null` while the answer to a later edit is missing. */
  readonly accepted: string | null;
  /** What a publish may contain. */
  readonly allowed: ReadonlySet<string>;
}

/** A translator who works at a site: what was acknowledged to them stays, and is what is published. */
export class Translator {
  readonly #site: Site;
  readonly #localized: LocalizedReleases;
  #targets = 0;
  /** By source text. */
  #known: ReadonlyMap<string, Known> = new Map();
  #hasRolledBack = false;
  /** Whether a rollback has left no localized release: none is published until a publish resumes. */
  #isWithdrawn = false;
  /** What was known when each backup was made, by the name of its folder. */
  readonly #backups = new Map<string, ReadonlyMap<string, Known>>();

  constructor(site: Site, localized: LocalizedReleases) {
    this.#site = site;
    this.#localized = localized;
  }

  /** Sends new targets for a file, and accepts them. @returns whether both were acknowledged */
  async translate(pick: number): Promise<boolean> {
    this.#noteBackups();
    const { daemon } = this.#site;
    const destination = TEXT_FILES[pick % TEXT_FILES.length] ?? '';
    const units = await this.#units(destination);
    const task = await this.#task(destination);
    if (task === null || units.length === 0) return false;
    const results = units.map(({ unit_id, source_text }) => {
      this.#targets += 1;
      return { unit_id, source_text, translated_text: targetText(this.#targets) };
    });
    // Until the answer arrives, both the old and the new targets may be there.
    for (const { source_text: source, translated_text: target } of results)
      this.#learn(source, { accepted: null, allowed: new Set([...this.#allowed(source), source, target]) });
    const sent = { task_id: task.task_id, status: 'translated', translation_results: results };
    if (!(await daemon.accepts('translation-task-update', sent))) return false;
    const reviewed = { task_id: task.task_id, status: 'proofread', reviewer: 'Rin' };
    if (!(await daemon.accepts('translation-proofread', reviewed))) return false;
    for (const { source_text: source, translated_text: target } of results)
      this.#learn(source, { accepted: target, allowed: new Set([target]) });
    return true;
  }

  /** Requests a publish of what is accepted. @param resumes whether it ends a withdrawal after a rollback */
  async publish(resumes = false): Promise<void> {
    this.#localized.expect(new Map([...this.#known].map(([source, { allowed }]) => [source, allowed])));
    if (resumes) this.#isWithdrawn = false;
    const args = resumes ? ['resume=true'] : [];
    await this.#site.daemon.control('localized-publish', undefined, { from_worker: true, args });
  }

  /** Takes the newest localized release back. Its texts are published again when someone has accepted them again. */
  async rollBack(): Promise<void> {
    for (const [source, { accepted, allowed }] of this.#known)
      this.#learn(source, { accepted, allowed: new Set([...allowed, source]) });
    const status = await this.#site.daemon.releaseStatus();
    await this.#site.daemon.control('localized-rollback');
    this.#hasRolledBack = (status?.localized ?? null) !== null;
  }

  /** Lets the provider translate what is open: drafts, which are never published. */
  async runProvider(): Promise<void> {
    await this.#site.daemon.control('translation-worker-run', undefined, { provider: 'machine' });
  }

  /** Checks that what was acknowledged is there. @throws Error */
  async check(): Promise<void> {
    this.#noteBackups();
    await this.#checkWithdrawal();
    for (const destination of TEXT_FILES) {
      for (const { source_text: source, translation } of await this.#units(destination)) {
        const { accepted = null } = this.#known.get(source) ?? {};
        // Before its task is built, a unit has no translation.
        if (accepted === null || translation === null || translation.task_id === null) continue;
        const { state, target_text: target } = translation;
        if (state !== 'proofread' || target !== accepted)
          throw new Error(`${source} was accepted as ${accepted}, and is ${state}: ${String(target)}`);
      }
    }
  }

  /** Restores the newest backup while the daemon is stopped. @throws Error when the restore fails */
  async restore(): Promise<void> {
    const name = [...this.#backups.keys()].findLast((known) => existsSync(join(this.#folder, known)));
    if (name === undefined) return;
    const { daemon, clock, data } = this.#site;
    await daemon.stop();
    const said: string[] = [];
    const sink = { write: (text: string): unknown => said.push(text) };
    const argv = ['--from', join(this.#folder, name), '--data', data, '--all'];
    const io = { stdout: sink, stderr: sink, clock, signal: new AbortController().signal };
    const code = await runRestore(argv, io);
    if (code !== 0) throw new Error(`the restore of ${name} failed: ${said.join('')}`);
    this.#known = this.#backups.get(name) ?? new Map();
    await daemon.start();
  }

  async #checkWithdrawal(): Promise<void> {
    const status = await this.#site.daemon.releaseStatus();
    if (status === null) return;
    if (this.#isWithdrawn && status.localized !== null)
      throw new Error('a localized release was published after a rollback that left none, and none resumed');
    this.#isWithdrawn ||= this.#hasRolledBack && status.localized === null && status.official !== null;
    this.#hasRolledBack = false;
  }

  /** Backups are made while nobody edits. */
  #noteBackups(): void {
    if (!existsSync(this.#folder)) return;
    for (const name of readdirSync(this.#folder).sort()) {
      if (name.startsWith('backup-') && !this.#backups.has(name)) this.#backups.set(name, this.#known);
    }
  }

  get #folder(): string {
    return join(this.#site.data, 'backups');
  }

  #allowed(source: string): Iterable<string> {
    return this.#known.get(source)?.allowed ?? [source];
  }

  #learn(source: string, known: Known): void {
    this.#known = new Map([...this.#known, [source, known]]);
  }

  async #units(destination: string): Promise<readonly Unit[]> {
    const report = await this.#site.daemon.report(`parse.text_units?destination=${destination}&limit=100`);
    return (report?.['items'] ?? []) as readonly Unit[];
  }

  /** The task of a file in the current release. */
  async #task(destination: string): Promise<TranslationTask | null> {
    const { daemon } = this.#site;
    const status = await daemon.releaseStatus();
    const report = await daemon.report(`translation.tasks?destination=${destination}&limit=1000`);
    const tasks = (report?.['items'] ?? []) as readonly TranslationTask[];
    return tasks.find(({ release_id: id }) => id === status?.official?.release_id) ?? null;
  }
}
