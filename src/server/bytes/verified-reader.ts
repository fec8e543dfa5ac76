import type { Channel } from '../../domain/release/channel.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { DamageReport } from '../../domain/verdict/evidence.ts';
import { VerifiedObject, type BlockSpan, type VerifiedObjectOptions } from './verified-object.ts';
import { byteFaultOf } from './byte-fault.ts';
import { DescriptorCache } from './descriptor-cache.ts';

/** The open object of an entry, for one request. */
export interface EntryReader {
  readonly entry: ManifestEntry;
  /** See {@link VerifiedObject.read}; reports damage before it throws the fault. */
  read(span: BlockSpan, keep: boolean): Promise<Buffer>;
  /** Ends the use; further calls do nothing. */
  release(): void;
}

/** Reads verified bytes of entries. */
export interface VerifiedReader {
  /**
   * Opens the object of an entry.
   *
   * @param generation of the serving state that the entry comes from
   * @throws ByteFault, after it has reported any damage
   */
  open(entry: ManifestEntry, generation: number, channel: Channel): Promise<EntryReader>;
  /**
   * Forgets everything about an object: the next reader opens and verifies the file that is there then, and so does a
   * reader that is in the middle of the object.
   */
  forget(blake3: Blake3Hex): void;
  /** Descriptors open now. */
  readonly openDescriptors: number;
  /** Closes the unused objects now, and the others when their readers release them. */
  close(): void;
}

export interface VerifiedReaderOptions extends VerifiedObjectOptions {
  readonly reportDamage: (report: DamageReport) => void;
  readonly logger: Logger;
  /** Maximum number of descriptors kept open for objects that are not being read. */
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
          found_by: 'client',
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
