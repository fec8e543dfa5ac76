import type { Channel } from '../../domain/release/channel.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { DamageReport } from '../../domain/verdict/evidence.ts';
import { byteFaultOf, type ByteFault } from './byte-fault.ts';
import { DescriptorCache, type Lease } from './descriptor-cache.ts';
import type { ObjectSpan } from './extents.ts';
import { VerifiedObject, type ReadOptions, type VerifiedObjectOptions } from './verified-object.ts';

/** The open object of an entry, for one request. */
export interface EntryReader {
  readonly entry: ManifestEntry;
  /** See {@link VerifiedObject.read}; reports damage before it throws the fault. */
  read(span: ObjectSpan, options: ReadOptions): Promise<Buffer>;
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
  /** Forgets the open file and the bytes in memory of an object: the next reader opens the file that is there then. */
  forget(blake3: Blake3Hex): void;
  /** Descriptors open now. */
  readonly openDescriptors: number;
  /** Closes the unused objects now, and the others when their readers release them. */
  close(): void;
}

interface VerifiedReaderOptions extends VerifiedObjectOptions {
  readonly reportDamage: (report: DamageReport) => void;
  readonly logger: Logger;
  /** Maximum number of descriptors kept open for objects that are not being read. */
  readonly openDescriptors: number;
}

/** Makes the reader of one snapshot volume. */
export function createVerifiedReader(options: VerifiedReaderOptions): VerifiedReader {
  const { source, cache, blockLists, metrics, reportDamage, logger } = options;
  const descriptors = new DescriptorCache<VerifiedObject>({
    limit: options.openDescriptors,
    open: async (entry) => new VerifiedObject(options, entry, await source.open(entry)),
    onCloseError: (error) => {
      logger.warn({ err: error }, 'an object could not be closed');
    },
  });

  const forget = (blake3: Blake3Hex): void => {
    descriptors.drop(blake3);
    cache.dropOwner(blake3);
    blockLists.dropOwner(blake3);
  };

  /** Reports what a failed read says of the object. */
  const noteFault = (entry: ManifestEntry, channel: Channel, error: unknown): ByteFault => {
    const fault = byteFaultOf(error);
    if (fault.kind === 'overloaded') return fault;
    const { destination, blake3 } = entry;
    forget(blake3);
    metrics.damage.inc({ kind: fault.kind });
    logger.error({ channel, destination, blake3, kind: fault.kind }, fault.message);
    reportDamage({ destination, blake3, kind: fault.kind, message: fault.message, found_by: 'client' });
    return fault;
  };

  return {
    open: async (entry, generation, channel) => {
      const acquire = async (): Promise<Lease<VerifiedObject>> => {
        try {
          return await descriptors.acquire(entry, generation);
        } catch (error) {
          throw noteFault(entry, channel, error);
        }
      };
      let lease = await acquire();

      const read = async (span: ObjectSpan, how: ReadOptions, isLastTry: boolean): Promise<Buffer> => {
        const { value } = lease;
        try {
          return await value.read(span, how);
        } catch (error) {
          const isDamage = byteFaultOf(error).kind !== 'overloaded';
          if (!isDamage || isLastTry || !(await source.wasReplaced(entry, value.object)))
            throw noteFault(entry, channel, error);
        }
        // A repair has put another file in the place of the open one, whose damage no longer counts.
        descriptors.drop(entry.blake3);
        const damaged = lease;
        lease = await acquire();
        damaged.release();
        return await read(span, how, true);
      };

      return {
        entry,
        read: async (span, how) => await read(span, how, false),
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
