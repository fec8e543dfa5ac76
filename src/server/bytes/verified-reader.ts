import type { Channel } from '../../domain/release/channel.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { DamageReport } from '../../domain/verdict/evidence.ts';
import { VerifiedObject, type BlockSpan, type VerifiedObjectOptions } from './verified-object.ts';
import { byteFaultOf } from './byte-fault.ts';
import { DescriptorCache } from './descriptor-cache.ts';

/** An entry whose object is open, for one request. */
export interface EntryReader {
  readonly entry: ManifestEntry;
  /** See {@link VerifiedObject.read}; damage is reported before the fault is thrown. */
  read(span: BlockSpan, keep: boolean): Promise<Buffer>;
  /** Ends the use; further calls do nothing. */
  release(): void;
}

/** Gives out verified bytes of entries. */
export interface VerifiedReader {
  /**
   * Opens the object of an entry.
   *
   * @param generation of the serving state that the entry comes from
   * @throws ByteFault; damage is reported before
   */
  open(entry: ManifestEntry, generation: number, channel: Channel): Promise<EntryReader>;
  /**
   * Forgets what is known of an object: whoever comes next opens the file that is there then and verifies it, and so
   * does whoever is in the middle of it.
   */
  forget(blake3: Blake3Hex): void;
  /** Descriptors open now. */
  readonly openDescriptors: number;
  /** Closes what is not in use, and what is when its reader ends. */
  close(): void;
}

export interface VerifiedReaderOptions extends VerifiedObjectOptions {
  readonly reportDamage: (report: DamageReport) => void;
  readonly logger: Logger;
  /** Maximum number of descriptors kept open while nobody reads. */
  readonly openDescriptors: number;
}

/** Makes the reader of one snapshot volume. */
export function createVerifiedReader(options: VerifiedReaderOptions): VerifiedReader {
  const { source, memory, metrics, reportDamage, logger } = options;
  const descriptors = new DescriptorCache<VerifiedObject>({
    limit: options.openDescriptors,
    open: async (entry) => new VerifiedObject(options, entry, await source.open(entry)),
    onCloseError: (error) => {
      logger.warn({ err: error }, 'an object could not be closed');
    },
  });

  const forget = (blake3: Blake3Hex): void => {
    descriptors.drop(blake3);
    memory.forget(blake3);
  };

  const watch = async <T>(
    entry: ManifestEntry,
    channel: Channel,
    operation: () => Promise<T>,
  ): Promise<T> => {
    try {
      return await operation();
    } catch (error) {
      const fault = byteFaultOf(error);
      if (fault.kind !== 'overloaded') {
        forget(entry.blake3);
        metrics.damage.inc({ kind: fault.kind });
        logger.error(
          { channel, destination: entry.destination, blake3: entry.blake3, kind: fault.kind },
          fault.message,
        );
        reportDamage({
          destination: entry.destination,
          blake3: entry.blake3,
          kind: fault.kind,
          message: fault.message,
        });
      }
      throw fault;
    }
  };

  return {
    open: async (entry, generation, channel) => {
      const lease = await watch(entry, channel, async () => await descriptors.acquire(entry, generation));
      return {
        entry,
        read: async (span, keep) =>
          await watch(entry, channel, async () => await lease.value.read(span, keep)),
        release: () => {
          lease.release();
        },
      };
    },
    forget,
    get openDescriptors() {
      return descriptors.open;
    },
    close: () => {
      descriptors.dropAll();
    },
  };
}
