namespace RedKite.Server.Acl;

/// <summary>Counts of users, for metrics.</summary>
/// <param name="All">All users, the default one included.</param>
/// <param name="Open">Users, except the default one, that are on and need no password.</param>
/// <param name="IsDefaultOpen">Whether the default user is one of these.</param>
/// <param name="LoginsRefused">Logins that were refused because too many from the address had failed.</param>
internal readonly record struct UserFigures(int All, int Open, bool IsDefaultOpen, long LoginsRefused);
