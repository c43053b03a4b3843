using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using Microsoft.AspNetCore.Http;
using RedKite.Server;
using RedKite.Server.Acl;
using RedKite.Server.Model;

namespace RedKite.Dashboard;

/// <summary>
/// Decides who may use the dashboard: a user that may do everything. Keeps sessions, and limits attempts. If the default user is one and needs no
/// password, no login is needed. Any change of a user's rules ends the user's sessions.
/// </summary>
/// <param name="server">Null: there are no users.</param>
internal sealed class Logins(RedKiteServer? server)
{
    internal const int TriesPerMinute = 5;

    private const string CookiePrefix = "redkite-session-";
    private const int SessionsMax = 100;
    private const int BasicCharactersMax = 1024;
    private const int AddressesMax = 10_000;
    private static readonly TimeSpan Lifetime = TimeSpan.FromHours(12);

    private readonly Lock _lock = new();
    private readonly Dictionary<string, (DateTime Ends, UserRules Rules)> _sessions = [];
    private readonly Dictionary<string, (DateTime Begun, int Count)> _tries = [];

    internal bool IsNeeded => server is not null && !(Users.AllowsAnonymous && Users.Default.Permissions is null);

    private UserRegistry Users => server!.Engine.Users;

    // Cookies do not know ports: two servers on one machine must not end each other's sessions.
    private static string CookieName(HttpContext http) => CookiePrefix + http.Connection.LocalPort;

    /// <summary>Whether the request may be answered: no login is needed, or there is a session of a user whose rules have not changed.</summary>
    internal bool Allows(HttpContext http)
    {
        if (!IsNeeded) return true;
        if (http.Request.Cookies[CookieName(http)] is not { } key) return AllowsBasic(http);
        (DateTime Ends, UserRules Rules) session;
        lock (_lock)
        {
            if (!_sessions.TryGetValue(Hash(key), out session)) return false;
        }

        return session.Ends > DateTime.UtcNow && Users.Find(session.Rules.Name) == session.Rules;
    }

    // Programs, such as Prometheus, send the password with every request (RFC 7617). Wrong ones count as failed attempts.
    private bool AllowsBasic(HttpContext http)
    {
        const string Scheme = "Basic ";
        string header = http.Request.Headers.Authorization.ToString();
        if (!header.StartsWith(Scheme, StringComparison.OrdinalIgnoreCase) || header.Length > BasicCharactersMax) return false;
        Span<byte> pair = stackalloc byte[BasicCharactersMax];
        if (!Convert.TryFromBase64String(header[Scheme.Length..], pair, out int length)) return false;
        int colon = pair[..length].IndexOf((byte)':');
        if (colon < 0) return false;
        string address = http.Connection.RemoteIpAddress?.ToString() ?? "";
        lock (_lock)
        {
            if (_tries.TryGetValue(address, out (DateTime Begun, int Count) tries) && tries.Count >= TriesPerMinute && DateTime.UtcNow - tries.Begun <= TimeSpan.FromMinutes(1)) return false;
        }

        if (Authenticate(Encoding.Latin1.GetString(pair[..colon]), pair[(colon + 1)..length]) is not null) return true;
        MayTry(address);
        return false;
    }

    internal async Task LogInAsync(HttpContext http)
    {
        if (!MayTry(http.Connection.RemoteIpAddress?.ToString() ?? ""))
        {
            http.Response.StatusCode = StatusCodes.Status429TooManyRequests;
            return;
        }

        (string user, string given) = await ReadAsync(http).ConfigureAwait(false);
        UserRules? rules = IsNeeded ? Authenticate(Encoding.Latin1.GetString(Encoding.UTF8.GetBytes(user)), Encoding.UTF8.GetBytes(given)) : null;
        if (rules is null)
        {
            http.Response.StatusCode = StatusCodes.Status401Unauthorized;
            return;
        }

        string key = RandomNumberGenerator.GetHexString(64);
        lock (_lock)
        {
            _tries.Remove(http.Connection.RemoteIpAddress?.ToString() ?? "");
            if (_sessions.Count >= SessionsMax) _sessions.Remove(_sessions.MinBy(session => session.Value.Ends).Key);
            _sessions[Hash(key)] = (DateTime.UtcNow + Lifetime, rules);
        }

        http.Response.Cookies.Append(CookieName(http), key, new CookieOptions { HttpOnly = true, SameSite = SameSiteMode.Strict, Secure = http.Request.IsHttps, Path = "/" });
        http.Response.StatusCode = StatusCodes.Status204NoContent;
    }

    internal void LogOut(HttpContext http)
    {
        if (http.Request.Cookies[CookieName(http)] is { } key)
        {
            lock (_lock) _sessions.Remove(Hash(key));
        }

        http.Response.Cookies.Delete(CookieName(http));
        http.Response.StatusCode = StatusCodes.Status204NoContent;
    }

    // The rules of the user, if name and password are right and it may do everything. They are read first: a change between the two
    // ends the session at once.
    private UserRules? Authenticate(string name, ReadOnlySpan<byte> password)
    {
        if (name.Length == 0) name = User.DefaultName;
        UserRules? rules = Users.Find(name);
        User? user = Users.Authenticate(name, password);
        return user is { Permissions: null } ? rules : null;
    }

    private bool MayTry(string address)
    {
        lock (_lock)
        {
            DateTime now = DateTime.UtcNow;
            if (_tries.Count >= AddressesMax)
            {
                foreach (string old in _tries.Where(entry => now - entry.Value.Begun > TimeSpan.FromMinutes(1)).Select(entry => entry.Key).ToArray()) _tries.Remove(old);
                if (_tries.Count >= AddressesMax) return false;
            }

            (DateTime begun, int count) = _tries.GetValueOrDefault(address);
            if (now - begun > TimeSpan.FromMinutes(1)) (begun, count) = (now, 0);
            _tries[address] = (begun, count + 1);
            return count < TriesPerMinute;
        }
    }

    private static async Task<(string User, string Password)> ReadAsync(HttpContext http)
    {
        try
        {
            using JsonDocument body = await JsonDocument.ParseAsync(http.Request.Body, default, http.RequestAborted).ConfigureAwait(false);
            return (Member("user"), Member("password"));

            string Member(string name) => body.RootElement.TryGetProperty(name, out JsonElement value) && value.ValueKind == JsonValueKind.String ? value.GetString()! : "";
        }
        catch (Exception failure) when (failure is JsonException or InvalidOperationException or BadHttpRequestException)
        {
            return ("", "");
        }
    }

    private static string Hash(string key) => Convert.ToHexString(SHA256.HashData(Encoding.UTF8.GetBytes(key)));
}
