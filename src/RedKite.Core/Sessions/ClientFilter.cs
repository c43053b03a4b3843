using RedKite.Server.Model;

namespace RedKite.Server.Sessions;

/// <summary>Selects the clients of CLIENT KILL: those that meet every condition that is set.</summary>
internal struct ClientFilter
{
    internal long? Id;
    internal ClientType? Type;
    internal string? Address;
    internal string? LocalAddress;
    internal User? User;

    /// <summary>The minimum age of the connection, in seconds.</summary>
    internal long? AgeSecondsMin;

    /// <summary>Excludes the calling client.</summary>
    internal bool SkipsCaller;

    internal readonly bool Matches(Session session, Session caller, long nowMs) =>
        (Id is null || session.Id == Id)
        && (Type is null || session.Type == Type)
        && (User is null || session.User == User)
        && (Address is null || session.Address == Address)
        && (LocalAddress is null || session.LocalAddress == LocalAddress)
        && (AgeSecondsMin is null || (nowMs / 1000) - (session.CreatedMs / 1000) >= AgeSecondsMin)
        && !(SkipsCaller && session == caller);
}
