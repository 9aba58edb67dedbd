import { createContext, type Context } from 'preact';
import { useContext } from 'preact/hooks';
import type { Session } from '../api/model.ts';

const nobody: Session = { user: '', role: 'customer', bodies: false, csrf: '', isOpen: false };

export const SessionContext: Context<Session> = createContext(nobody);

export function useSession(): Session {
  return useContext(SessionContext);
}

/** What an event is called that was given up: customers have never heard of dead letters. */
const words = {
  staff: { letter: 'Dead letter', letters: 'Dead letters', becomesLetter: 'becomes a dead letter' },
  customer: { letter: 'Given up', letters: 'Events given up', becomesLetter: 'is given up' },
} as const;

export function useWords(): Readonly<Record<keyof (typeof words)['staff'], string>> {
  return words[useSession().role === 'customer' ? 'customer' : 'staff'];
}

/** The name that the pages bear: until a screen changes the title, it is the server's. */
export const brand: string = document.title;

/** Whether pages of single events may be seen: of customers, only those whose link shows bodies ask for them. */
export function mayOpenEvents({ role, bodies }: Session): boolean {
  return role !== 'customer' || bodies;
}
