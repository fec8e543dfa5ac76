import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import { ObjectFault } from '../../snapshot/objects/object-fault.ts';
import type { OpenObject } from '../../snapshot/objects/object-reader.ts';

/** The value that a cache makes from an open object, and how to close it. */
export interface Opened {
  close(): Promise<void>;
}

/** The right to use an open object until it is released, once. */
export interface Lease<T> {
  readonly value: T;
  release(): void;
}

interface DescriptorCacheOptions<T extends Opened> {
  /** Maximum number of descriptors kept open; those in use may exceed it. */
  readonly limit: number;
  readonly open: (entry: ManifestEntry) => Promise<T>;
  /** Called when a descriptor could not be closed. */
  readonly onCloseError: (error: unknown) => void;
}

interface Slot<T> {
  readonly blake3: Blake3Hex;
  readonly opening: Promise<T>;
  users: number;
  /** No longer in the cache: its last user closes it. */
  dropped: boolean;
}

/**
 * Keeps the most recently used objects open, and shares them between readers. A switch of the served releases drops all
 * of them, so that no descriptor outlives the releases that it was opened for.
 */
export class DescriptorCache<T extends Opened = OpenObject> {
  readonly #options: DescriptorCacheOptions<T>;
  readonly #slots = new Map<Blake3Hex, Slot<T>>();
  #generation = 0;
  #open = 0;

  constructor(options: DescriptorCacheOptions<T>) {
    this.#options = options;
  }

  /** Number of open descriptors, in use or not. */
  get open(): number {
    return this.#open;
  }

  /**
   * Opens the object of an entry, or shares it if it is open. Concurrent calls for one object open it once.
   *
   * @param generation of the serving state that the entry comes from
   * @throws the errors of `open`
   */
  async acquire(entry: ManifestEntry, generation: number): Promise<Lease<T>> {
    if (generation > this.#generation) {
      this.#generation = generation;
      this.dropAll();
    }
    let slot = this.#slots.get(entry.blake3);
    if (slot === undefined) {
      slot = { blake3: entry.blake3, opening: this.#openWithRoom(entry), users: 0, dropped: false };
    } else {
      this.#slots.delete(entry.blake3);
    }
    this.#slots.set(entry.blake3, slot);
    slot.users += 1;
    try {
      const value = await slot.opening;
      return { value, release: this.#releaser(slot) };
    } catch (error) {
      slot.users -= 1;
      if (this.#slots.get(entry.blake3) === slot) this.#slots.delete(entry.blake3);
      throw error;
    }
  }

  /** Drops one object: the next reader opens it again. */
  drop(blake3: Blake3Hex): void {
    const slot = this.#slots.get(blake3);
    if (slot === undefined) return;
    this.#slots.delete(blake3);
    slot.dropped = true;
    if (slot.users === 0) this.#close(slot);
  }

  /** Drops all objects. */
  dropAll(): void {
    for (const blake3 of this.#slots.keys()) this.drop(blake3);
  }

  async #openWithRoom(entry: ManifestEntry): Promise<T> {
    let value: T;
    try {
      value = await this.#options.open(entry);
    } catch (error) {
      if (!(error instanceof ObjectFault && error.kind === 'exhausted')) throw error;
      // The process is out of descriptors: close the unused ones, once, before a client is rejected.
      await Promise.all(
        [...this.#slots.values()].filter((slot) => slot.users === 0).map((slot) => this.#evict(slot)),
      );
      value = await this.#options.open(entry);
    }
    this.#open += 1;
    return value;
  }

  #releaser(slot: Slot<T>): () => void {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      slot.users -= 1;
      if (slot.users > 0) return;
      if (slot.dropped) this.#close(slot);
      else this.#trim();
    };
  }

  #trim(): void {
    if (this.#slots.size <= this.#options.limit) return;
    for (const slot of this.#slots.values()) {
      if (slot.users > 0) continue;
      this.drop(slot.blake3);
      if (this.#slots.size <= this.#options.limit) return;
    }
  }

  async #evict(slot: Slot<T>): Promise<void> {
    this.#slots.delete(slot.blake3);
    slot.dropped = true;
    await this.#closeNow(slot);
  }

  #close(slot: Slot<T>): void {
    void this.#closeNow(slot);
  }

  async #closeNow(slot: Slot<T>): Promise<void> {
    try {
      const value = await slot.opening;
      this.#open -= 1;
      await value.close();
    } catch (error) {
      this.#options.onCloseError(error);
    }
  }
}
