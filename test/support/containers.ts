import { text } from 'node:stream/consumers';
import process from 'node:process';
import {
  GenericContainer,
  getContainerRuntimeClient,
  PullPolicy,
  Wait,
  type StartedTestContainer,
} from 'testcontainers';
import type { Docker } from './docker.ts';
import { WAIT_MS } from './until.ts';

/** Makes testcontainers use this daemon. Call it before the first container. */
export function useDocker({ env, hasBridge }: Docker): void {
  const host = env['DOCKER_HOST'];
  if (host !== undefined) process.env['DOCKER_HOST'] = host;
  // Its helper container would have to be pulled. The tests remove their containers themselves.
  process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true';
  // Otherwise testcontainers looks for the address of the network "bridge".
  if (!hasBridge) process.env['TESTCONTAINERS_HOST_OVERRIDE'] = '127.0.0.1';
}

/** A container with the restrictions that the chart sets: a read-only root file system and no capabilities. */
export class RestrictedContainer extends GenericContainer {
  #log = '';

  constructor(image: string) {
    super(image);
    this.hostConfig.ReadonlyRootfs = true;
    this.withDroppedCapabilities('ALL')
      .withSecurityOpt('no-new-privileges')
      .withPullPolicy(PullPolicy.neverPull())
      .withStartupTimeout(WAIT_MS)
      .withLogConsumer((stream) => {
        stream.on('data', (chunk: Buffer | string) => {
          this.#log += chunk.toString();
        });
      });
  }

  /** Starts as usual. When the container does not become ready, the error holds its log. */
  override async start(): Promise<StartedTestContainer> {
    try {
      return await super.start();
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`a container of ${this.imageName.string} did not start: ${reason}\n${this.#log}`, {
        cause,
      });
    }
  }
}

/**
 * Runs a shell command in its own container, without network.
 *
 * @returns what it wrote to both outputs, trimmed
 * @throws Error with its output when the exit code is not 0
 */
export async function runInContainer(container: GenericContainer, command: string): Promise<string> {
  const ended = await container
    .withNetworkMode('none')
    .withEntrypoint(['sh', '-c', command])
    .withWaitStrategy(Wait.forOneShotStartup())
    .start();
  try {
    return (await text(await ended.logs())).trim();
  } finally {
    await ended.stop();
  }
}

/** Sends a signal to the first process of a container. */
export async function signalContainer(
  container: StartedTestContainer,
  signal: NodeJS.Signals,
): Promise<void> {
  const client = await getContainerRuntimeClient();
  await client.container.getById(container.getId()).kill({ signal });
}

/** Whether a container still runs. */
export async function isRunning(container: StartedTestContainer): Promise<boolean> {
  const client = await getContainerRuntimeClient();
  return (await client.container.getById(container.getId()).inspect()).State.Running;
}

/** Waits until a container has ended; returns its exit code. */
export async function exitCodeOf(container: StartedTestContainer): Promise<number> {
  const client = await getContainerRuntimeClient();
  const { StatusCode } = (await client.container.getById(container.getId()).wait()) as { StatusCode: number };
  return StatusCode;
}
