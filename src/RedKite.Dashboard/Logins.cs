using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using Microsoft.AspNetCore.Http;
using RedKite.Net;
using RedKite.Server.Acl;
using RedKite.Server.Execution;
using RedKite.Server.Model;

namespace RedKite.Dashboard;

/// <summary>
/// Decides who may use the dashboard: a user that may do everything. Keeps sessions, counts and slows down failed logins. If the default
/// user is one and needs no password, no login is needed. Any change of a user's rules ends the user's sessions.
/// </summary>
/// <param name="server">Null: there are no users.</param>
internal sealed class Logins(RedKiteServer? server)
{
    private const string CookiePrefix = "redkite-session-";
    private const string Scheme = "Basic ";
    private const int SessionsMax = 100;
    private const int BasicCharactersMax = 1024;
    private const int RetryAfterSeconds = 5;
    private static readonly TimeSpan Lifetime = TimeSpan.FromHours(12);
    private static readonly object RulesKey = new(); // of a request that has logged in by itself

    private readonly Lock _lock = new();
    private readonly Dictionary<string, (long Begun, UserRules Rules)> _sessions = [];
    private readonly LoginThrottle _throttle = new(TimeProvider.System);

    internal bool IsNeeded => server is not null && !(Users.AllowsAnonymous && Users.Default.Permissions is null);

    private UserRegistry Users => server!.Engine.Users;

    // Cookies do not know ports: two servers on one machine must not end each other's sessions.
    private static string CookieName(HttpContext http) => CookiePrefix + http.Connection.LocalPort;

    /// <summary>Whether the request may be answered: no login is needed, there is a session, or the request has a password of its own.</summary>
    internal async Task<bool> AllowsAsync(HttpContext http) => StillAllows(http) || await AllowsBasicAsync(http).ConfigureAwait(false);

    /// <summary>Whether what allowed a request still does: the rules of its user have not changed, and its session has not ended.</summary>
    internal bool StillAllows(HttpContext http)
    {
        if (!IsNeeded) return true;
        if (http.Items.TryGetValue(RulesKey, out object? rules)) return IsCurrent((UserRules)rules!);
        if (http.Request.Cookies[CookieName(http)] is not { } key) return false;
        (long Begun, UserRules Rules) session;
        lock (_lock)
        {
            if (!_sessions.TryGetValue(Hash(key), out session)) return false;
        }

        return Stopwatch.GetElapsedTime(session.Begun) < Lifetime && IsCurrent(session.Rules);
    }

    private bool IsCurrent(UserRules rules) => Users.Find(rules.Name) == rules;

    // Programs, such as Prometheus, send the password with every request (RFC 7617).
    private async Task<bool> AllowsBasicAsync(HttpContext http)
    {
        string header = http.Request.Headers.Authorization.ToString();
        if (!header.StartsWith(Scheme, StringComparison.OrdinalIgnoreCase) || header.Length > BasicCharactersMax) return false;
        var pair = new byte[BasicCharactersMax];
        if (!Convert.TryFromBase64String(header[Scheme.Length..], pair, out int length)) return false;
        int colon = pair.AsSpan(0, length).IndexOf((byte)':');
        if (colon < 0) return false;
        if (await AuthenticateAsync(http, Encoding.Latin1.GetString(pair, 0, colon), pair.AsMemory(colon + 1, length - colon - 1)).ConfigureAwait(false) is not { } rules) return false;
        http.Items[RulesKey] = rules;
        return true;
    }

    internal async Task LogInAsync(HttpContext http)
    {
        (string user, string given) = await ReadAsync(http).ConfigureAwait(false);
        UserRules? rules = IsNeeded ? await AuthenticateAsync(http, Encoding.Latin1.GetString(Encoding.UTF8.GetBytes(user)), Encoding.UTF8.GetBytes(given)).ConfigureAwait(false) : null;
        if (rules is null)
        {
            if (http.Response.StatusCode == StatusCodes.Status200OK) http.Response.StatusCode = StatusCodes.Status401Unauthorized;
            return;
        }

        string key = RandomNumberGenerator.GetHexString(64);
        lock (_lock)
        {
            if (_sessions.Count >= SessionsMax) _sessions.Remove(_sessions.MinBy(session => session.Value.Begun).Key);
            _sessions[Hash(key)] = (Stopwatch.GetTimestamp(), rules);
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
    // ends the session at once. The status says why there are none: 429, or unchanged.
    private async Task<UserRules?> AuthenticateAsync(HttpContext http, string name, ReadOnlyMemory<byte> password)
    {
        if (name.Length == 0) name = User.DefaultName;
        (bool tried, UserRules? result) = await _throttle.TryAsync(PeerAddress.SourceOf(http.Connection.RemoteIpAddress ?? IPAddress.None), Compare, http.RequestAborted).ConfigureAwait(false);
        if (!tried)
        {
            http.Response.StatusCode = StatusCodes.Status429TooManyRequests;
            http.Response.Headers.RetryAfter = RetryAfterSeconds.ToString(CultureInfo.InvariantCulture);
        }

        return result;

        UserRules? Compare()
        {
            UserRules? rules = Users.Find(name);
            User? user = Users.Authenticate(name, password.Span);
            if (user is { Permissions: null }) return rules;
            IPAddress? from = http.Connection.RemoteIpAddress;
            string client = string.Create(CultureInfo.InvariantCulture, $"id=0 addr={Address(from, http.Connection.RemotePort)} laddr={Address(http.Connection.LocalIpAddress, http.Connection.LocalPort)} name=dashboard");
            Engine engine = server!.Engine;
            Interlocked.Increment(ref engine.Metrics.Server.DashboardLoginsDenied);
            Users.NoteFailedLogin(client, from?.ToString() ?? "", "dashboard"u8, name, engine.Clock);
            return null;
        }

        static string Address(IPAddress? address, int port) => address is null ? "" : new IPEndPoint(address, port).ToString();
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
