import type { Site } from './site.ts';

/** How long an idempotency key is remembered, less a margin, seconds. */
const KEY_SECONDS = 23 * 3600;
/** How many of the newest calls are checked after each step. */
const CHECKED_CALLS = 5;

/** A call that the daemon has accepted. */
interface AcceptedCall {
  readonly key: string;
  readonly action: string;
  readonly task: string;
  /** Unix seconds of the daemon. */
  readonly at: number;
}

/** The calls that the daemon of a site has accepted: it must know their tasks and their keys from then on. */
export class Calls {
  readonly #site: Site;
  #keys = 0;
  #accepted: AcceptedCall[] = [];
  /** Those whose age is known: the clock was not set since. */
  #repeatable: AcceptedCall[] = [];

  constructor(site: Site) {
    this.#site = site;
  }

  /** Posts an action with a key of its own. */
  async post(action: string): Promise<void> {
    this.#keys += 1;
    const key = `key-${this.#keys}`;
    const at = this.#site.clock.now() / 1000;
    const task = await this.#site.daemon.control(action, key);
    if (task === null) return;
    const call = { key, action, task, at };
    this.#accepted = [...this.#accepted, call].slice(-CHECKED_CALLS);
    this.#repeatable.push(call);
  }

  /** Repeats an accepted call. @throws Error when it makes another task */
  async repeat(pick: number): Promise<void> {
    const call = this.#repeatable[pick % Math.max(1, this.#repeatable.length)];
    if (call === undefined || this.#site.clock.now() / 1000 - call.at > KEY_SECONDS) return;
    const task = await this.#site.daemon.control(call.action, call.key);
    if (task !== null && task !== call.task)
      throw new Error(`${call.action} with ${call.key} made task ${task}, and ${call.task} at first`);
  }

  /** The clock was set: how old a call is to the daemon is no longer known. */
  forgetTimes(): void {
    this.#repeatable = [];
  }

  /** Checks that the newest tasks are known. @throws Error */
  async check(): Promise<void> {
    const { daemon } = this.#site;
    for (const { action, task } of this.#accepted) {
      const known = await daemon.report(`task.status?task_id=${task}`);
      // A daemon that answers nothing at all is away.
      if (known === null && (await daemon.report('task.list')) !== null)
        throw new Error(`task ${task}, an accepted ${action}, is unknown`);
    }
  }
}
