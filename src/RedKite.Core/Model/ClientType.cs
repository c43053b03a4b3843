namespace RedKite.Server.Model;

/// <summary>The kinds of clients that CLIENT LIST and KILL distinguish.</summary>
internal enum ClientType : byte
{
    Normal,
    Replica,
    PubSub,
    Master,
}
