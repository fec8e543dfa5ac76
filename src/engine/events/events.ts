import { watchedCaller, type CallerOf } from '../../platform/threads/caller.ts';

/** Takes the events of one part. */
export interface Publisher<Event> {
  readonly publish: (event: Event) => void;
}

/** Tells what one part has changed to those that follow it. A listener is called for each event after it subscribed. */
export interface Events<Event> extends Publisher<Event> {
  readonly subscribe: (listener: (event: Event) => void) => void;
}

/** Creates events without listeners. */
export function createEvents<Event>(): Events<Event> {
  const listeners: ((event: Event) => void)[] = [];
  return {
    publish: (event) => {
      for (const listener of listeners) listener(event);
    },
    subscribe: (listener) => void listeners.push(listener),
  };
}

type EventIn<Result> = Result extends { readonly event: infer Event } ? Event : never;

/** What the methods of a store say, in `event`, that has changed. */
type EventOf<Store> = {
  [Name in keyof Store]: Store[Name] extends (argument: never, context: never) => infer Result
    ? Exclude<EventIn<Awaited<Result>>, null>
    : never;
}[keyof Store];

/**
 * The same store, whose events are published: the member `event` of each result that has one. No other list says which methods
 * change something.
 */
export function publishEvents<Store extends object>(
  caller: CallerOf<Store>,
  events: Publisher<EventOf<Store>>,
): CallerOf<Store> {
  return watchedCaller(caller, (answer) => {
    answer.then(
      (result) => {
        const hasEvent = typeof result === 'object' && result !== null && 'event' in result;
        if (hasEvent && result.event !== null) events.publish(result.event as EventOf<Store>);
      },
      () => undefined,
    );
  });
}

/**
 * Queues a job after events.
 *
 * @param select what the job is to do after an event; `null` for nothing
 * @param run queues it
 * @param failed hears of an error of `select`
 */
export function followJob<Event, Wanted>(
  events: Events<Event>,
  select: (event: Event) => Wanted | null | Promise<Wanted | null>,
  run: (wanted: Wanted) => void,
  failed: (error: unknown) => void,
): void {
  const follow = async (event: Event): Promise<void> => {
    try {
      const selected = select(event);
      const wanted = selected instanceof Promise ? await selected : selected;
      if (wanted !== null) run(wanted);
    } catch (error) {
      failed(error);
    }
  };
  events.subscribe((event) => void follow(event));
}
