import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { DamageChange, DamageReport } from './serving.ts';

/** Most digests whose damage is remembered; the verdict is already lost at the first. */
const MAX_RECORDS = 10_000;

/** What an inspection found of one object. */
export interface Inspection {
  readonly sound: boolean;
  readonly kind: 'missing' | 'damaged';
  readonly message: string;
  /**
   * What the next inspection of the same digest wants to know of this one (which file it hashed); opaque to the book.
   */
  readonly memory: unknown;
}

/** One damaged digest. */
export interface DamageRecord {
  readonly blake3: Blake3Hex;
  readonly destination: string;
  readonly kind: 'missing' | 'damaged';
  readonly message: string;
}

/** Remembers which digests have bytes that must not leave. */
export interface DamageBook {
  /** Writes a report down; returns false when this digest was already in the book with the same kind. */
  report(report: DamageReport): boolean;
  has(blake3: Blake3Hex): boolean;
  records(): Iterable<DamageRecord>;
  digests(): Iterable<Blake3Hex>;
  readonly size: number;
  /**
   * Inspects every recorded object again and strikes out the sound ones.
   *
   * @returns whether the book changed
   */
  recheck(): Promise<boolean>;
  /** Strikes out digests that nothing served holds any more; returns whether the book changed. */
  retain(isHeld: (blake3: Blake3Hex) => boolean): boolean;
  /** Tells the watchers of something that is known here without a record, such as an object that was missing from the start. */
  announce(report: DamageReport): void;
  /** Tells of every record that is written, changes its kind, or is struck out. */
  watch(listener: (change: DamageChange) => void): void;
}

/** What {@link createDamageBook} needs. */
export interface DamageBookOptions {
  /**
   * Looks at the object of a digest; `memory` is what the last inspection left, `null` on the first.
   *
   * @returns `null` when nothing can be said of it yet
   */
  readonly inspect: (blake3: Blake3Hex, memory: unknown) => Promise<Inspection | null>;
}

/** Makes an empty book. */
export function createDamageBook({ inspect }: DamageBookOptions): DamageBook {
  const records = new Map<Blake3Hex, DamageRecord & { readonly memory: unknown }>();
  const listeners: ((change: DamageChange) => void)[] = [];

  const tell = (blake3: Blake3Hex, report: DamageReport | null): void => {
    for (const listener of listeners) listener({ blake3, report });
  };

  const strikeOut = (blake3: Blake3Hex): void => {
    records.delete(blake3);
    tell(blake3, null);
  };

  return {
    get size() {
      return records.size;
    },
    has: (blake3) => records.has(blake3),
    records: () => records.values(),
    digests: () => records.keys(),
    announce: (report) => {
      tell(report.blake3, report);
    },
    watch: (listener) => {
      listeners.push(listener);
    },
    report: (report) => {
      const { blake3, destination, kind, message } = report;
      const known = records.get(blake3);
      if (known?.kind === kind || (known === undefined && records.size >= MAX_RECORDS)) return false;
      // A new kind of trouble: what was found before says nothing about the file that is there now.
      records.set(blake3, { blake3, destination, kind, message, memory: null });
      tell(blake3, report);
      return true;
    },
    recheck: async () => {
      let changed = false;
      for (const record of records.values()) {
        const found = await inspect(record.blake3, record.memory);
        // Reported anew while it was inspected: the report is younger than what the inspection read.
        if (found === null || records.get(record.blake3) !== record) continue;
        if (found.sound) {
          strikeOut(record.blake3);
          changed = true;
          continue;
        }
        const { kind, message, memory } = found;
        records.set(record.blake3, { ...record, kind, message, memory });
        if (kind === record.kind) continue;
        changed = true;
        tell(record.blake3, { blake3: record.blake3, destination: record.destination, kind, message });
      }
      return changed;
    },
    retain: (isHeld) => {
      let changed = false;
      for (const blake3 of records.keys()) {
        if (isHeld(blake3)) continue;
        strikeOut(blake3);
        changed = true;
      }
      return changed;
    },
  };
}
