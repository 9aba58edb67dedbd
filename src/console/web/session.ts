import { createContext, type Context } from 'preact';
import { useContext } from 'preact/hooks';
import type { Session } from '../api/model.ts';

const nobody: Session = { user: '', role: 'customer', bodies: false, csrf: '', isOpen: false };

export const SessionContext: Context<Session> = createContext(nobody);

export function useSession(): Session {
  return useContext(SessionContext);
}
