import { Component, type ComponentChildren } from 'preact';

interface GuardProps {
  /** A change makes the guard try again. */
  readonly answers: number;
  readonly children?: ComponentChildren;
}

interface GuardState {
  readonly answers: number;
  readonly error: string | null;
}

/** Prevents a page that cannot show its data from breaking everything around it. */
export class Guard extends Component<GuardProps, GuardState> {
  constructor(props: GuardProps) {
    super(props);
    this.state = { answers: props.answers, error: null };
  }

  static override getDerivedStateFromProps({ answers }: GuardProps, state: GuardState): GuardState | null {
    return answers === state.answers ? null : { answers, error: null };
  }

  override componentDidCatch(error: unknown): void {
    this.setState({ error: String(error) });
  }

  override render(): ComponentChildren {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <div class="note bad">
        <p>
          <strong>This view cannot show the data from the server. </strong>
          <span>{error}</span>
        </p>
      </div>
    );
  }
}
